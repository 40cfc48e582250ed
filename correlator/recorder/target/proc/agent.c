/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/proc/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "recorder/target/proc/agent_work.h"
#include "recorder/target/proc/proc_file.h"

enum {
	DEADLINE_MS = 500,
	DEADLINE_MIN_MS = 10,
	/* A runnable agent is only waiting for a CPU. */
	DEADLINES_MAX = 20,
	GIVEN_UP_MAX = 256,
	ENDED_MAX = 64,
	AGENT_FDS = 4, /* its line and the identifier */
};

#define PAUSE_FIRST_NS (60 * NS_PER_S)
#define PAUSE_MAX_NS   (3600 * NS_PER_S)
/* Time after which one hang is forgotten. */
#define FORGIVE_NS (10 * NS_PER_S)

struct given_up {
	pid_t pid; /* 0 = free */
	uint64_t until_ns;
	uint64_t pause_ns;
};

struct agent {
	pthread_mutex_t lock;
	pid_t pid; /* 0 = none */
	pid_t owner; /* the agent's parent: differs from us in a process that we forked */
	struct agent_line line; /* our end */
	struct agent_line its_line; /* -1 = closed; in stays open: no SIGPIPE if agent is dead */
	struct agent_room *room;
	agent_identify_fn identify; /* passed to it at its start */
	int identifier;
	uint64_t ended_cpu_ns; /* CPU time of earlier agents */
	unsigned int hangs; /* recent ones; each halves the deadline */
	uint64_t forgive_ns; /* when hangs is decremented */
	struct given_up given_up[GIVEN_UP_MAX];
	pid_t ended[ENDED_MAX]; /* killed, perhaps not reaped yet; 0 = free */
};

/* A single agent: it is a child of this process. */
static struct agent the_agent = { .lock = PTHREAD_MUTEX_INITIALIZER, .identifier = -1 };

/* Ends the agent if a function takes too long, whatever we do about this signal. */
static void obey_timer(void)
{
	sigset_t timer;

	(void)signal(SIGPROF, SIG_DFL);
	(void)sigemptyset(&timer);
	(void)sigaddset(&timer, SIGPROF);
	(void)sigprocmask(SIG_UNBLOCK, &timer, NULL);
}

/* Runs in the child. Keeps nothing of ours open: no files, locks, sockets, kernel programs. */
static _Noreturn void become_agent(const struct agent *agent)
{
	const struct agent_line line = { .in = 0, .out = 1, .fds = 2 };
	int own[AGENT_FDS] = { agent->its_line.in, agent->its_line.out, agent->its_line.fds,
			       agent->identifier };
	unsigned int count = agent->identify ? AGENT_FDS : AGENT_FDS - 1;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != agent->owner)
		_exit(1);
	/* First move the descriptors out of each other's way. */
	for (unsigned int i = 0; i < count; i++)
		own[i] = fcntl(own[i], F_DUPFD, AGENT_FDS);
	for (unsigned int i = 0; i < count; i++)
		if (own[i] < 0 || dup2(own[i], (int)i) < 0)
			_exit(1);
	(void)close_range(count, ~0U, 0);
	(void)prctl(PR_SET_NAME, "correlator-read");
	obey_timer();
	agent_work(agent->room, &line, agent->identify, AGENT_FDS - 1);
}

static void reap(struct agent *agent)
{
	for (size_t i = 0; i < ENDED_MAX; i++)
		if (agent->ended[i] && waitpid(agent->ended[i], NULL, WNOHANG) != 0)
			agent->ended[i] = 0;
}

static uint64_t read_cpu_ns(const struct agent *agent)
{
	struct timespec used = { 0 };
	clockid_t clock;

	if (agent->pid && clock_getcpuclockid(agent->pid, &clock) == 0)
		(void)clock_gettime(clock, &used);
	return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

static void close_line(struct agent_line *line)
{
	int *const fds[] = { &line->in, &line->out, &line->fds };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			(void)close(TAKE_FD(*fds[i]));
}

static void release(struct agent *agent)
{
	close_line(&agent->line);
	close_line(&agent->its_line);
	if (agent->room != MAP_FAILED)
		(void)munmap(agent->room, sizeof(*agent->room));
	agent->pid = 0;
}

static void end(struct agent *agent)
{
	if (!agent->pid)
		return;
	if (agent->owner == getpid()) {
		size_t i = 0;

		agent->ended_cpu_ns += read_cpu_ns(agent);
		(void)kill(agent->pid, SIGKILL);
		while (i < ENDED_MAX - 1 && agent->ended[i])
			i++;
		agent->ended[i] = agent->pid;
		reap(agent);
	}
	release(agent);
}

static int open_line(struct agent *agent)
{
	int there[2] = { -1, -1 }, back[2] = { -1, -1 }, fds[2] = { -1, -1 }, r = 0;

	if (pipe2(there, O_CLOEXEC) < 0 || pipe2(back, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		r = -errno;
	agent->line = (struct agent_line){ .in = back[0], .out = there[1], .fds = fds[0] };
	agent->its_line = (struct agent_line){ .in = there[0], .out = back[1], .fds = fds[1] };
	return r;
}

static int start(struct agent *agent)
{
	int r = open_line(agent);

	agent->room = mmap(NULL, sizeof(*agent->room), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r == 0 && agent->room == MAP_FAILED)
		r = -errno;
	agent->owner = getpid();
	agent->pid = r == 0 ? fork() : 0;
	if (r == 0 && agent->pid == 0)
		become_agent(agent);
	if (agent->pid < 0)
		r = -errno;
	if (r < 0) {
		release(agent);
		return r;
	}
	(void)close(TAKE_FD(agent->its_line.out));
	(void)close(TAKE_FD(agent->its_line.fds));
	return 0;
}

static int ensure(struct agent *agent)
{
	if (agent->pid && agent->owner != getpid())
		end(agent);
	reap(agent);
	return agent->pid ? 0 : start(agent);
}

/* True if the agent is runnable: it waits for a CPU, not for what it reads. */
static bool can_run(pid_t pid)
{
	char text[256];
	const char *end_of_name;

	if (proc_file_read_head(pid, "stat", text, sizeof(text)) < 0)
		return false;
	end_of_name = strrchr(text, ')');
	return end_of_name && end_of_name[1] == ' ' && end_of_name[2] == 'R';
}

static int deadline_ms(const struct agent *agent)
{
	int deadline = agent->hangs < 6 ? DEADLINE_MS >> agent->hangs : 0;

	return deadline > DEADLINE_MIN_MS ? deadline : DEADLINE_MIN_MS;
}

/* 0 once it has answered, or -ETIMEDOUT, -EPIPE. */
static int await_answer(const struct agent *agent)
{
	struct pollfd answer = { .fd = agent->line.in, .events = POLLIN };
	int deadline = deadline_ms(agent), got = 0;

	for (int i = 0; got <= 0 && i < DEADLINES_MAX; i++) {
		got = poll(&answer, 1, deadline);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0 && !can_run(agent->pid))
			/* The answer may have arrived between the two calls. */
			return poll(&answer, 1, 0) > 0 ? 0 : -ETIMEDOUT;
	}
	return got > 0 ? 0 : -ETIMEDOUT;
}

/* One turn of the agent, on the request in the room. fd is passed to it, -1 = none. */
static int take_turn(struct agent *agent, int fd, int *ret_fd)
{
	int r = agent_send_turn(&agent->line, fd);

	if (r == 0)
		r = await_answer(agent);
	return r == 0 ? agent_receive_turn(&agent->line, ret_fd) : r;
}

static struct given_up *find_given_up(struct agent *agent, pid_t pid)
{
	for (size_t i = 0; i < GIVEN_UP_MAX; i++)
		if (agent->given_up[i].pid == pid)
			return &agent->given_up[i];
	return NULL;
}

/* file: NULL = the process's memory. */
static void give_up(struct agent *agent, pid_t pid, const char *file)
{
	struct given_up *given_up = find_given_up(agent, pid), *oldest = &agent->given_up[0];
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; !given_up && i < GIVEN_UP_MAX; i++)
		if (agent->given_up[i].until_ns < oldest->until_ns)
			oldest = &agent->given_up[i];
	if (!given_up) {
		given_up = oldest;
		*given_up = (struct given_up){ .pid = pid, .pause_ns = PAUSE_FIRST_NS };
		log_warning("process %d: its %s%s does not come within %d ms: given up", (int)pid,
			    file ? "file " : "memory", file ? file : "", deadline_ms(agent));
	} else if (given_up->pause_ns < PAUSE_MAX_NS) {
		given_up->pause_ns *= 2;
	}
	given_up->until_ns = now_ns + given_up->pause_ns;
	agent->hangs++;
	agent->forgive_ns = now_ns + FORGIVE_NS;
}

static bool is_given_up(struct agent *agent, pid_t pid)
{
	const struct given_up *given_up = find_given_up(agent, pid);
	uint64_t now_ns = clock_monotonic_ns();

	if (agent->hangs && now_ns >= agent->forgive_ns) {
		agent->hangs--;
		agent->forgive_ns = now_ns + FORGIVE_NS;
	}
	return given_up && now_ns < given_up->until_ns;
}

/*
 * Has the agent process the request in the room; the agent must be running. 0: done, and the room
 * holds the result; -errno. file: name of the file, or NULL; fd: passed to the agent; *ret_fd:
 * returned by the agent, -1 = none.
 */
static int use(struct agent *agent, pid_t pid, const char *file, int fd, int *ret_fd)
{
	int r = take_turn(agent, fd, ret_fd);

	if (r == 0)
		return 0;
	if (r == -ETIMEDOUT)
		give_up(agent, pid, file);
	end(agent);
	return r;
}

/* Has the agent read the pieces listed in the room. */
static int read_room(struct agent *agent, pid_t pid, pid_t tid)
{
	struct agent_room *room = agent->room;
	int fd, r;

	room->task = AGENT_READ_MEMORY;
	room->pid = tid;
	r = use(agent, pid, NULL, -1, &fd);
	if (r < 0)
		return r;
	/* If we started the command, Yama may allow only us to read it (ptrace_scope 1). */
	if (room->result == -EPERM)
		room->result = agent_read_pieces(room);
	if (room->result < 0)
		return (int)room->result;
	/* A short count: the bytes after it are unreadable (process_vm_readv(2)). */
	return (size_t)room->result == room->used_bytes ? 0 : -EFAULT;
}

/* Where in the spans a request begins or ends. */
struct position {
	size_t span;
	size_t offset_bytes;
};

/* Adds as many pieces of the spans as fit in one request. */
static void fill_room(struct agent_room *room, const struct memory_span *spans, size_t count,
		      struct position *position)
{
	room->count = 0;
	room->used_bytes = 0;
	while (position->span < count && room->count < AGENT_PIECES_MAX &&
	       room->used_bytes < AGENT_BYTES_MAX) {
		const struct memory_span *span = &spans[position->span];
		size_t bytes = span->size_bytes - position->offset_bytes;

		if (bytes > AGENT_BYTES_MAX - room->used_bytes)
			bytes = AGENT_BYTES_MAX - room->used_bytes;
		room->pieces[room->count++] = (struct iovec){
			.iov_base = (void *)(uintptr_t)(span->address + position->offset_bytes),
			.iov_len = bytes,
		};
		room->used_bytes += bytes;
		position->offset_bytes += bytes;
		if (position->offset_bytes == span->size_bytes)
			*position = (struct position){ .span = position->span + 1 };
	}
}

static void empty_room(const struct agent_room *room, const struct memory_span *spans,
		       struct position position)
{
	const uint8_t *from = room->bytes;

	for (uint32_t i = 0; i < room->count; i++) {
		const struct memory_span *span = &spans[position.span];
		size_t bytes = room->pieces[i].iov_len;

		memcpy((uint8_t *)span->buffer + position.offset_bytes, from, bytes);
		from += bytes;
		position.offset_bytes += bytes;
		if (position.offset_bytes == span->size_bytes)
			position = (struct position){ .span = position.span + 1 };
	}
}

static int read_spans(struct agent *agent, pid_t pid, pid_t tid, const struct memory_span *spans,
		      size_t count)
{
	struct position position = { 0 };
	int r = is_given_up(agent, pid) ? -ETIMEDOUT : 0;

	while (r == 0 && position.span < count) {
		struct position begin = position;

		r = ensure(agent);
		if (r < 0)
			return r;
		fill_room(agent->room, spans, count, &position);
		r = read_room(agent, pid, tid);
		if (r == 0)
			empty_room(agent->room, spans, begin);
	}
	return r;
}

int agent_read_memory(pid_t pid, pid_t tid, const struct memory_span *spans, size_t count)
{
	int r;

	(void)pthread_mutex_lock(&the_agent.lock);
	r = read_spans(&the_agent, pid, tid, spans, count);
	(void)pthread_mutex_unlock(&the_agent.lock);
	return r;
}

/* One request about a file; its arguments are in the room already. */
static int use_for_file(struct agent *agent, pid_t pid, const char *name, int fd, int *ret_fd)
{
	int r = use(agent, pid, name, fd, ret_fd);

	if (r == 0 && agent->room->result < 0)
		r = (int)agent->room->result;
	return r;
}

static int open_or_stat(struct agent *agent, enum agent_task task, pid_t pid, const char *name,
			const struct agent_file_names *names, struct stat *ret_status)
{
	int fd, r = is_given_up(agent, pid) ? -ETIMEDOUT : ensure(agent);

	if (r < 0)
		return r;
	agent->room->task = task;
	agent->room->names = *names;
	r = use_for_file(agent, pid, name, -1, &fd);
	if (r < 0)
		return r;
	*ret_status = agent->room->status;
	return task == AGENT_OPEN_FILE ? fd : 0;
}

int agent_open_file(pid_t pid, const char *name, const struct agent_file_names *names,
		    struct stat *ret_status)
{
	int r;

	(void)pthread_mutex_lock(&the_agent.lock);
	r = open_or_stat(&the_agent, AGENT_OPEN_FILE, pid, name, names, ret_status);
	(void)pthread_mutex_unlock(&the_agent.lock);
	return r;
}

int agent_stat_file(pid_t pid, const char *name, const struct agent_file_names *names,
		    struct stat *ret_status)
{
	int r;

	(void)pthread_mutex_lock(&the_agent.lock);
	r = open_or_stat(&the_agent, AGENT_STAT_FILE, pid, name, names, ret_status);
	(void)pthread_mutex_unlock(&the_agent.lock);
	return r;
}

/* Reads at most AGENT_BYTES_MAX bytes. */
static int read_piece(struct agent *agent, pid_t pid, const char *name, int path_fd,
		      uint64_t offset, uint8_t *buffer, size_t size_bytes)
{
	int fd, r = ensure(agent);

	if (r < 0)
		return r;
	agent->room->task = AGENT_READ_FILE;
	agent->room->offset = offset;
	agent->room->used_bytes = size_bytes;
	r = use_for_file(agent, pid, name, path_fd, &fd);
	if (r < 0)
		return r;
	if ((size_t)agent->room->result != size_bytes)
		return -EFAULT;
	memcpy(buffer, agent->room->bytes, size_bytes);
	return 0;
}

int agent_read_file(pid_t pid, const char *name, int path_fd, uint64_t offset, void *buffer,
		    size_t size_bytes)
{
	int r = 0;

	(void)pthread_mutex_lock(&the_agent.lock);
	for (size_t used = 0, piece; r == 0 && used < size_bytes; used += piece) {
		piece = size_bytes - used < AGENT_BYTES_MAX ? size_bytes - used : AGENT_BYTES_MAX;
		r = read_piece(&the_agent, pid, name, path_fd, offset + used,
			       (uint8_t *)buffer + used, piece);
	}
	(void)pthread_mutex_unlock(&the_agent.lock);
	return r;
}

static int identify(struct agent *agent, pid_t pid, const char *name, int path_fd,
		    uint64_t *ret_identity)
{
	int fd, r = ensure(agent);

	if (r < 0)
		return r;
	agent->room->task = AGENT_IDENTIFY_FILE;
	r = use_for_file(agent, pid, name, path_fd, &fd);
	if (r == 0)
		*ret_identity = agent->room->identity;
	return r;
}

int agent_identify_file(pid_t pid, const char *name, int path_fd, uint64_t *ret_identity)
{
	int r;

	(void)pthread_mutex_lock(&the_agent.lock);
	r = identify(&the_agent, pid, name, path_fd, ret_identity);
	(void)pthread_mutex_unlock(&the_agent.lock);
	return r;
}

/* Without a file, nobody is left alone for a function that does not return. */
static int call(struct agent *agent, pid_t pid, const char *name, int path_fd,
		const struct agent_call *call)
{
	struct agent_room *room;
	int fd, r = path_fd >= 0 && is_given_up(agent, pid) ? -ETIMEDOUT : ensure(agent);

	if (r < 0)
		return r;
	room = agent->room;
	room->task = AGENT_CALL;
	room->function = call->function;
	memcpy(room->input, call->input, call->input_bytes);
	r = path_fd >= 0 ? use(agent, pid, name, path_fd, &fd) : take_turn(agent, -1, &fd);
	if (r < 0) {
		end(agent);
		return path_fd < 0 && r == -ETIMEDOUT ? -EPIPE : r;
	}
	if (room->result == 0)
		memcpy(call->output, room->output, call->output_bytes);
	return (int)room->result;
}

int agent_call(pid_t pid, const char *name, int path_fd, const struct agent_call *agent_call)
{
	int r;

	(void)pthread_mutex_lock(&the_agent.lock);
	r = call(&the_agent, pid, name, path_fd, agent_call);
	(void)pthread_mutex_unlock(&the_agent.lock);
	return r;
}

void agent_set_identifier(agent_identify_fn identify_fn, int identifier)
{
	(void)pthread_mutex_lock(&the_agent.lock);
	/* The next agent gets it at its start. */
	end(&the_agent);
	the_agent.identify = identify_fn;
	the_agent.identifier = identifier;
	(void)pthread_mutex_unlock(&the_agent.lock);
}

bool agent_has_given_up(pid_t pid)
{
	bool has_given_up;

	(void)pthread_mutex_lock(&the_agent.lock);
	has_given_up = is_given_up(&the_agent, pid);
	(void)pthread_mutex_unlock(&the_agent.lock);
	return has_given_up;
}

uint64_t agent_cpu_ns(void)
{
	uint64_t cpu_ns;

	(void)pthread_mutex_lock(&the_agent.lock);
	cpu_ns = the_agent.ended_cpu_ns + read_cpu_ns(&the_agent);
	(void)pthread_mutex_unlock(&the_agent.lock);
	return cpu_ns;
}
