/* SPDX-License-Identifier: GPL-2.0-only */
/* The calibrator from the outside: started, read once a window, ended. */
#include "recorder/probe/calibration.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include <correlator/life.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "recorder/probe/calibrator.h"
#include "recorder/probe/open_session.h"

/* On a busy machine most bursts are interrupted, and yield nothing. */
#define FIRST_WAIT_NS (15ULL * 1000 * 1000 * 1000)
#define LATER_WAIT_NS (5ULL * 1000 * 1000 * 1000) /* while a recording runs */
#define PATIENCE_NS   (2ULL * 1000 * 1000 * 1000)
#define FIRST_POLL_MS 5
#define AGE_MAX_NS    (15ULL * 1000 * 1000 * 1000)

enum {
	FIRST_SAMPLES = 60, /* before the first window */
	HOT_LEAST = 30,
	COLD_LEAST = 60
};

struct calibration {
	struct calibration_samples *samples;
	pid_t pid;
	uint64_t life; /* 0 = the kernel side does not know it, or no longer does */
	bool has_ended;
	clockid_t clock; /* its CPU time */
	uint64_t last_cpu_ns;
};

static int start_process(struct session *session, struct calibration *calibration,
			 int *ret_release_fd)
{
	struct calibrator_config config = {
		.parent = getpid(),
		.slots_fd = bpf_map__fd(session->skeleton->maps.edge_slots),
		.threads_fd = bpf_map__fd(session->skeleton->maps.threads),
		.thread_bytes = bpf_map__value_size(session->skeleton->maps.threads),
		.cpu_count = libbpf_num_possible_cpus(),
		.samples = calibration->samples,
	};
	_cleanup_fd_ int release_read = -1;
	int release[2];

	if (config.cpu_count < 0)
		return config.cpu_count;
	if (pipe2(release, O_CLOEXEC))
		return -errno;
	release_read = config.release_fd = release[0];
	*ret_release_fd = release[1];
	calibration->pid = fork();
	if (calibration->pid < 0)
		return -errno;
	if (calibration->pid == 0)
		calibrator_run(&config);
	return -clock_getcpuclockid(calibration->pid, &calibration->clock);
}

/* Like any target, except for its accounts: session_flush() drops them. */
static int observe_process(struct session *session, struct calibration *calibration,
			   enum session_way way, int *release_fd)
{
	struct process_config config = {
		.flags = way == SESSION_WAY_LONG ? PROCESS_IS_LEAN : 0,
	};
	int r = session_begin_life(session, calibration->pid, LIFE_OF_OUR_CHILD,
				   &calibration->life);

	config.image = calibration->life;
	if (r == 0)
		r = session_set_process(session, calibration->life, 0, &config);
	if (r == 0)
		r = session_register_threads(session);
	if (r == 0 && write(*release_fd, "g", 1) != 1)
		r = -errno;
	return r;
}

/* Does not reap it, so that it keeps its pid. */
static bool has_died(const struct calibration *calibration)
{
	siginfo_t end = { 0 };

	return waitid(P_PID, (id_t)calibration->pid, &end, WEXITED | WNOHANG | WNOWAIT) ||
	       end.si_pid;
}

static int await_samples(struct calibration *calibration, uint64_t most_ns)
{
	uint64_t begin_ns = clock_monotonic_ns();
	bool is_told = false;

	while (__atomic_load_n(&calibration->samples->written, __ATOMIC_ACQUIRE) < FIRST_SAMPLES) {
		if (has_died(calibration))
			return -ECHILD;
		if (signals_are_pending())
			return -EINTR;
		if (clock_monotonic_ns() - begin_ns > most_ns)
			return -ETIMEDOUT;
		if (!is_told && clock_monotonic_ns() - begin_ns > PATIENCE_NS) {
			log_info(
				"measuring the cost of a system call takes long: the machine is busy");
			is_told = true;
		}
		(void)poll(NULL, 0, FIRST_POLL_MS);
	}
	return 0;
}

/* Forgets a calibration that has ended, mostly with the split. */
static void forget_past(struct session *session, enum session_way way)
{
	struct calibration *past = TAKE_PTR(session->calibrations[way]);

	if (!past)
		return;
	calibration_forget(session, past);
	session->past_calibration_ns += past->last_cpu_ns;
	calibration_free(past);
}

bool session_has_calibration(const struct session *session, enum session_way way)
{
	return session->calibrations[way] && !session->calibrations[way]->has_ended;
}

void session_end_calibration(struct session *session, enum session_way way)
{
	if (session->calibrations[way])
		calibration_end(session->calibrations[way]);
}

int session_start_calibration(struct session *session, enum session_way way)
{
	_cleanup_(calibration_freep) struct calibration *calibration =
		calloc(1, sizeof(*calibration));
	_cleanup_fd_ int release_fd = -1;
	bool is_first = session_calibration_cpu_ns(session) == 0; /* nothing is recorded yet */
	int r;

	if (session_has_calibration(session, way))
		return 0;
	if (!calibration)
		return log_error_errno(ENOMEM, "cannot measure the cost of a system call");
	forget_past(session, way);
	calibration->samples = mmap(NULL, sizeof(*calibration->samples), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (calibration->samples == MAP_FAILED) {
		calibration->samples = NULL;
		return log_error_errno(errno, "cannot measure the cost of a system call");
	}
	r = start_process(session, calibration, &release_fd);
	if (r == 0)
		r = observe_process(session, calibration, way, &release_fd);
	if (r == 0)
		r = await_samples(calibration, is_first ? FIRST_WAIT_NS : LATER_WAIT_NS);
	if (r < 0) {
		/* If it was not started, there is nothing to remove. */
		session_remove_process(session, calibration->life, calibration->pid);
		if (r != -EINTR)
			log_error_errno(r, "cannot measure the cost of a system call");
		return r;
	}
	session->calibrations[way] = TAKE_PTR(calibration);
	return 0;
}

/* Never decreases. */
static uint64_t read_cpu_ns(struct calibration *calibration)
{
	struct timespec used;

	if (!calibration->has_ended && !clock_gettime(calibration->clock, &used))
		calibration->last_cpu_ns =
			(uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
	return calibration->last_cpu_ns;
}

void calibration_end(struct calibration *calibration)
{
	siginfo_t end;

	if (calibration->pid <= 0 || calibration->has_ended)
		return;
	(void)read_cpu_ns(calibration);
	calibration->has_ended = true;
	(void)kill(calibration->pid, SIGKILL);
	/* Until it ends, it charges to its own life. */
	(void)waitid(P_PID, (id_t)calibration->pid, &end, WEXITED | WNOWAIT);
}

/* Until then its pid is not reused. */
static void reap(struct calibration *calibration)
{
	if (calibration->pid > 0)
		(void)waitpid(calibration->pid, NULL, 0);
	calibration->pid = 0;
}

void calibration_free(struct calibration *calibration)
{
	if (!calibration)
		return;
	calibration_end(calibration);
	reap(calibration);
	if (calibration->samples)
		(void)munmap(calibration->samples, sizeof(*calibration->samples));
	free(calibration);
}

bool calibrations_own(const struct session *session, uint64_t life)
{
	for (size_t way = 0; way < _SESSION_WAY_MAX; way++) {
		const struct calibration *calibration = session->calibrations[way];

		if (calibration && calibration->life && calibration->life == life)
			return true;
	}
	return false;
}

void calibration_forget(struct session *session, struct calibration *calibration)
{
	if (!calibration->has_ended || !calibration->life)
		return;
	session_remove_process(session, calibration->life, calibration->pid);
	calibration->life = 0;
	reap(calibration);
}

uint64_t session_calibration_cpu_ns(const struct session *session)
{
	uint64_t used_ns = session->past_calibration_ns;

	for (size_t way = 0; way < _SESSION_WAY_MAX; way++)
		if (session->calibrations[way])
			used_ns += read_cpu_ns(session->calibrations[way]);
	return used_ns;
}

static void note_end(struct calibration *calibration)
{
	if (calibration->has_ended || !has_died(calibration))
		return;
	calibration->has_ended = true;
	log_warning("the process that measures the cost of a system call has ended: "
		    "split_error_ns grows to all that it had found");
}

static void add_way(double *ways_ns, size_t *count, size_t least, bool is_wanted, double way_ns)
{
	if ((is_wanted || *count < least) && *count < SESSION_WAYS_MAX)
		ways_ns[(*count)++] = way_ns;
}

void calibration_choose(const struct calibration_samples *samples, uint64_t since_ns,
			uint64_t now_ns, struct session_ways *ret_ways)
{
	uint64_t written = __atomic_load_n(&samples->written, __ATOMIC_ACQUIRE);
	uint64_t oldest_ns = now_ns - AGE_MAX_NS;

	if (since_ns < oldest_ns)
		oldest_ns = since_ns;
	ret_ways->hot_count = ret_ways->lone_count = ret_ways->slept_count = 0;
	/* The oldest place in the ring may be overwritten at this moment. */
	for (uint64_t back = 1; back < CALIBRATION_SAMPLES_MAX; back++) {
		const struct calibration_sample *sample =
			&samples->ring[(written - back) % CALIBRATION_SAMPLES_MAX];

		if (back > written || sample->ktime_ns < oldest_ns)
			break;
		if (sample->kind == CALIBRATION_HOT)
			add_way(ret_ways->hot_ns, &ret_ways->hot_count, HOT_LEAST,
				sample->ktime_ns >= since_ns, sample->way_ns);
		else if (sample->kind == CALIBRATION_LONE)
			add_way(ret_ways->lone_ns, &ret_ways->lone_count, COLD_LEAST, false,
				sample->way_ns);
		else
			add_way(ret_ways->slept_ns, &ret_ways->slept_count, COLD_LEAST, false,
				sample->way_ns);
	}
}

void session_read_ways(struct session *session, enum session_way way, uint64_t since_ns,
		       struct session_ways *ret_ways)
{
	struct calibration *calibration = session->calibrations[way];

	note_end(calibration);
	ret_ways->hot_count = ret_ways->lone_count = ret_ways->slept_count = 0;
	if (!calibration->has_ended)
		calibration_choose(calibration->samples, since_ns, clock_monotonic_ns(), ret_ways);
}
