/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/top/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/rights.h"

enum {
	PIPE_BYTES = 1024 * 1024, /* a window of a thousand requests fills half of it */
	END_MS = 5000, /* limit for a recorder to detach */
	END_POLL_MS = 10,
};

static int begin(struct source *source, int fd, const char *name)
{
	source->view = calloc(1, sizeof(*source->view));
	if (!source->view)
		return log_error_errno(ENOMEM, "cannot read %s", name);
	source->fd = fd;
	return record_reader_open_fd(fd, name, &source->reader);
}

/* Runs the recorder in the child. It ends with us, however we end, and Ctrl-C does not reach it. */
static void run_recorder(char *const *argv, int out_fd, int said_fd, pid_t parent)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent || null_fd < 0 ||
	    dup2(null_fd, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0 ||
	    (said_fd >= 0 && dup2(said_fd, STDERR_FILENO) < 0))
		_exit(EXIT_CODE_FAILURE);
	rights_pass_on();
	(void)execv("/proc/self/exe", argv);
	(void)log_error_errno(errno, "cannot start the recorder");
	_exit(EXIT_CODE_FAILURE);
}

int source_start(struct source *source, char *const *argv, bool takes_said)
{
	int out[2], said[2] = { -1, -1 }, r;
	pid_t parent = getpid();

	*source = (struct source){ .fd = -1, .said_fd = -1 };
	if (pipe2(out, O_CLOEXEC) < 0 || (takes_said && pipe2(said, O_CLOEXEC) < 0))
		return log_error_errno(errno, "cannot start the recorder");
	(void)fcntl(out[0], F_SETPIPE_SZ, PIPE_BYTES);
	(void)fcntl(out[0], F_SETFL, O_NONBLOCK);
	if (takes_said)
		(void)fcntl(said[0], F_SETFL, O_NONBLOCK);
	source->said_fd = said[0];
	r = begin(source, out[0], "the recorder");
	source->recorder = r < 0 ? 0 : fork();
	if (r == 0 && source->recorder == 0)
		run_recorder(argv, out[1], said[1], parent);
	(void)close(out[1]);
	if (takes_said)
		(void)close(said[1]);
	if (source->recorder < 0) {
		source->recorder = 0;
		r = log_error_errno(errno, "cannot start the recorder");
	}
	return r;
}

int source_open(struct source *source, const char *path, double speed)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
			  : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;

	*source = (struct source){ .fd = fd, .said_fd = -1, .speed = speed };
	if (fd < 0 || fstat(fd, &status) < 0)
		return log_error_errno(errno, "cannot open %s", path);
	source->is_paced = S_ISREG(status.st_mode);
	if (!source->is_paced)
		(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	return begin(source, fd, is_stdin ? "standard input" : path);
}

/* True if the recorder has been reaped, or there is none. */
static bool reap(struct source *source, int options)
{
	if (source->recorder > 0 &&
	    waitpid(source->recorder, &source->exit_status, options) == source->recorder)
		source->recorder = 0;
	return source->recorder == 0;
}

void source_deinit(struct source *source)
{
	const struct timespec pause = clock_timespec(END_POLL_MS * NS_PER_MS);

	/* The recorder may still write and get EPIPE, which is not an error. */
	record_reader_free(source->reader);
	if (source->fd >= 0)
		(void)close(source->fd);
	if (source->recorder > 0)
		(void)kill(source->recorder, SIGTERM);
	for (int ms = 0; !reap(source, WNOHANG) && ms < END_MS; ms += END_POLL_MS)
		(void)nanosleep(&pause, NULL);
	if (source->recorder > 0) {
		(void)kill(source->recorder, SIGKILL);
		(void)reap(source, 0);
	}
	if (source->said_fd >= 0)
		(void)close(source->said_fd);
	free(source->view);
	*source = (struct source){ .fd = -1, .said_fd = -1 };
}

/* Appends text to said, and keeps the end of both; size_bytes is at most SOURCE_SAID_BYTES - 1. */
static void note_said(struct source *source, const char *text, size_t size_bytes)
{
	size_t known_bytes = strlen(source->said), most_bytes = sizeof(source->said) - 1,
	       drop_bytes;

	drop_bytes =
		known_bytes + size_bytes > most_bytes ? known_bytes + size_bytes - most_bytes : 0;
	memmove(source->said, source->said + drop_bytes, known_bytes - drop_bytes);
	memcpy(source->said + known_bytes - drop_bytes, text, size_bytes);
	source->said[known_bytes - drop_bytes + size_bytes] = '\0';
}

void source_listen(struct source *source)
{
	char text[1024];
	ssize_t got = -1;

	while (source->said_fd >= 0 && (got = read(source->said_fd, text, sizeof(text))) > 0)
		note_said(source, text, (size_t)got);
	if (got == 0) {
		(void)close(source->said_fd);
		source->said_fd = -1;
	}
}

int source_exit_code(const struct source *source)
{
	if (WIFSIGNALED(source->exit_status))
		return EXIT_CODE_OF_SIGNAL + WTERMSIG(source->exit_status);
	return WEXITSTATUS(source->exit_status);
}

/* Handles the end of the input. The recorder closes its output just before it exits. */
static void end(struct source *source, struct history *history)
{
	source->has_ended = true;
	source->quiet_ns = 0;
	(void)reap(source, 0);
	source_listen(source);
	history_close_window(history);
}

/* The time to show a record that was just read; 0 = at once. */
static uint64_t find_due_ns(struct source *source, uint64_t now_ns)
{
	const uint64_t wall_ns = source->view->wall_ns, gap_ns = SOURCE_GAP_SECONDS * NS_PER_S;
	double due_ns;

	if (!source->is_paced || source->speed <= 0 || source->view->kind == RECORD_KIND_META ||
	    source->view->kind == RECORD_KIND_PROCESS || wall_ns <= source->last_wall_ns)
		return 0;
	source->last_wall_ns = wall_ns;
	if (source->base_wall_ns == 0) {
		source->base_ns = now_ns;
		source->base_wall_ns = wall_ns;
	}
	due_ns = (double)source->base_ns + (double)(wall_ns - source->base_wall_ns) / source->speed;
	if (due_ns > (double)(now_ns + gap_ns)) {
		source->base_ns = now_ns + gap_ns;
		source->base_wall_ns = wall_ns;
		return source->base_ns;
	}
	return (uint64_t)due_ns;
}

/* Reads the next record into view. 1: it is to be shown now; 0: not yet, or the end; -errno. */
static int next(struct source *source, struct history *history, uint64_t now_ns)
{
	int r = 1;

	if (!source->has_view)
		r = record_reader_next(source->reader, source->view);
	if (r > 0)
		record_view_steady(source->view);
	if (r == -EAGAIN)
		return 0;
	if (r == 0)
		end(source, history);
	if (r <= 0)
		return r;
	if (!source->has_view)
		source->due_ns = find_due_ns(source, now_ns);
	source->has_view = true;
	if (source->due_ns <= now_ns)
		return 1;
	/* The next window is not due: this one is complete. */
	history_close_window(history);
	return 0;
}

static void note_damage(struct source *source)
{
	uint64_t places, bytes;

	record_reader_get_damage(source->reader, &places, &bytes);
	source->is_damaged = places > 0;
}

/* True once the pipe has, or had, a writer: before that, a read returns 0 as at the end. */
static bool has_begun(struct source *source)
{
	struct pollfd poll_fd = { .fd = source->fd, .events = POLLIN };

	source->has_begun = source->has_begun || poll(&poll_fd, 1, 0) != 0;
	return source->has_begun;
}

int source_read(struct source *source, struct history *history, uint64_t now_ns)
{
	uint64_t complete = history->first + history_closed_count(history);
	int r = 1, count = 0;

	if (source->has_ended || !has_begun(source))
		return 0;
	while (r > 0 && count < SOURCE_READ_MAX &&
	       history->first + history_closed_count(history) <= complete) {
		r = next(source, history, now_ns);
		if (r <= 0)
			break;
		source->has_view = false;
		if (history_add(history, source->view) < 0)
			return log_error_errno(ENOMEM, "cannot keep the records of %s",
					       record_reader_name(source->reader));
		count++;
	}
	note_damage(source);
	if (count > 0)
		source->quiet_ns = now_ns + SOURCE_QUIET_NS;
	else if (source->quiet_ns > 0 && now_ns >= source->quiet_ns) {
		source->quiet_ns = 0;
		history_close_window(history);
	}
	return r < 0 ? r : 0;
}

void source_awaits(const struct source *source, int *ret_fd, uint64_t *ret_due_ns)
{
	*ret_fd = -1;
	*ret_due_ns = UINT64_MAX;
	if (source->has_ended)
		return;
	if (!source->is_paced) {
		*ret_fd = source->fd;
		*ret_due_ns = source->quiet_ns ? source->quiet_ns : UINT64_MAX;
		return;
	}
	*ret_due_ns = source->has_view ? source->due_ns : 0;
}
