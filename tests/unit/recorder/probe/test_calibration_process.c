/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that calibrates, from the outside: a real one, which the test plays, on a kernel side
 * that notes what it is told. What it measures is in test_calibrator.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit_test.h"

#include <correlator/life.h>

#include "base/clock.h"
#include "ears.h"
#include "failing_memory.h"
#include "recorder/probe/calibrator.h"
#include "recorder/probe/open_session.h"

UNIT_TEST_ALONE;

enum {
	SAMPLES_BEFORE = 60,
	CPUS = 3,
	THREAD_BYTES = 640
};

static struct fake {
	struct session session;
	struct correlator_bpf skeleton;
	int cpus, begin_error, set_error, register_error;
	uint64_t samples; /* that it has when it is told to begin */
	bool ends; /* then */
	/* Of what was told: b a life begins, p a process, t threads, n no process any more. */
	char told[64];
	pid_t last;
	uint64_t last_life; /* told of */
	uint64_t lives; /* that were begun */
	uint32_t flags;
	uint64_t cpu_ns; /* that a process has used; 0 = it is gone */
	uint64_t waited_ns; /* for samples: in no time */
	uint64_t wait_ns; /* that passes each time */
} fake;

static char maps[2];

static void tell(const char *what)
{
	assert_true(strlen(fake.told) + 2 < sizeof(fake.told));
	(void)strcat(fake.told, what);
}

/* libbpf's */
int bpf_map__fd(const struct bpf_map *map)
{
	return (const char *)map == &maps[0] ? 50 : 60;
}

__u32 bpf_map__value_size(const struct bpf_map *map)
{
	assert_ptr_equal(map, &maps[1]);
	return THREAD_BYTES;
}

int libbpf_num_possible_cpus(void)
{
	return fake.cpus;
}

/* Of another process: as much as is said. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (clock >= 0) {
		long r = syscall(SYS_clock_gettime, clock, ret);

		ret->tv_sec += (time_t)(fake.waited_ns / NS_PER_S);
		return (int)r;
	}
	*ret = (struct timespec){ .tv_sec = (time_t)(fake.cpu_ns / NS_PER_S),
				  .tv_nsec = (long)(fake.cpu_ns % NS_PER_S) };
	errno = EINVAL;
	return fake.cpu_ns ? 0 : -1;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	const struct timespec timeout = { .tv_nsec = timeout_ms * 1000000L };

	/* The log's. */
	if (fds)
		return ppoll(fds, count, &timeout, NULL);
	assert_int_equal(count, 0);
	assert_int_equal(timeout_ms, 5);
	fake.waited_ns += fake.wait_ns;
	if (!fake.wait_ns)
		(void)sched_yield();
	return 0;
}

/* No life is cut, nor is a pid, nor the calibration's place, taken for one. */
#define FIRST_LIFE (1ULL << 32 | 7000)

/* Also a zombie has it. */
static bool is_our_child(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* recorder/probe/process_maps.c */
int session_begin_life(struct session *session, pid_t pid, uint64_t start_ticks, uint64_t *ret_life)
{
	assert_ptr_equal(session, &fake.session);
	assert_true(start_ticks == LIFE_OF_OUR_CHILD);
	assert_true(is_our_child(pid));
	tell("b");
	fake.last = pid;
	if (fake.begin_error)
		return fake.begin_error;
	*ret_life = fake.last_life = FIRST_LIFE + fake.lives++;
	return 0;
}

int session_set_process(struct session *session, uint64_t life, uint64_t parent,
			const struct process_config *config)
{
	assert_ptr_equal(session, &fake.session);
	assert_int_equal(parent, 0);
	assert_int_equal(life, fake.last_life);
	assert_int_equal(config->image, life);
	tell("p");
	fake.flags = config->flags;
	return fake.set_error;
}

int session_register_threads(struct session *session)
{
	assert_ptr_equal(session, &fake.session);
	tell("t");
	return fake.register_error;
}

void session_remove_process(struct session *session, uint64_t life, pid_t pid)
{
	assert_ptr_equal(session, &fake.session);
	/* Nobody else has its pid yet. */
	assert_true(pid == 0 || is_our_child(pid));
	tell("n");
	fake.last_life = life;
	fake.last = pid;
}

/* recorder/probe/calibrator.c: in the forked process, which says what it was given in its first
 * sample. */
_Noreturn void calibrator_run(const struct calibrator_config *config)
{
	struct calibration_samples *samples = config->samples;
	bool is_ours = config->parent == getppid() && config->slots_fd == 50 &&
		       config->threads_fd == 60 && config->thread_bytes == THREAD_BYTES &&
		       config->cpu_count == CPUS;
	char byte;

	if (read(config->release_fd, &byte, 1) != 1)
		_exit(1);
	samples->ring[0] = (struct calibration_sample){ .ktime_ns = clock_monotonic_ns(),
							.kind = CALIBRATION_LONE,
							.way_ns = is_ours ? 70 : 7 };
	for (size_t i = 1; i < fake.samples; i++)
		samples->ring[i] = (struct calibration_sample){ .ktime_ns = clock_monotonic_ns(),
								.kind = CALIBRATION_HOT,
								.way_ns = 5 };
	__atomic_store_n(&samples->written, fake.samples, __ATOMIC_RELEASE);
	if (fake.ends)
		_exit(0);
	for (;;)
		(void)pause();
}

static int set_up(void **state)
{
	(void)state;
	fake = (struct fake){ .cpus = CPUS, .samples = SAMPLES_BEFORE, .cpu_ns = 1 };
	fake.skeleton.maps.edge_slots = (struct bpf_map *)&maps[0];
	fake.skeleton.maps.threads = (struct bpf_map *)&maps[1];
	fake.session.skeleton = &fake.skeleton;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	memory_never_fails();
	for (size_t way = 0; way < _SESSION_WAY_MAX; way++)
		calibration_free(fake.session.calibrations[way]);
	/* No process of ours is left behind. */
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

static int start(enum session_way way)
{
	return session_start_calibration(&fake.session, way);
}

static struct session_ways *read_ways(enum session_way way)
{
	static struct session_ways ways;

	ways.hot_count = ways.lone_count = ways.slept_count = 7;
	session_read_ways(&fake.session, way, 0, &ways);
	return &ways;
}

static size_t count_fds(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(calibration_process_is_registered_before_it_starts)
{
	size_t fds = count_fds();
	struct session_ways *ways;

	assert_int_equal(start(SESSION_WAY_SHORT), 0);
	assert_string_equal(fake.told, "bpt");
	assert_int_equal(fake.flags, 0);
	assert_true(calibrations_own(&fake.session, FIRST_LIFE));
	assert_false(calibrations_own(&fake.session, FIRST_LIFE + 1));
	assert_false(calibrations_own(&fake.session, (uint32_t)FIRST_LIFE));
	assert_false(calibrations_own(&fake.session, (uint64_t)fake.last));
	assert_false(calibrations_own(&fake.session, (uint64_t)getpid()));
	assert_false(calibrations_own(&fake.session, 0));
	ways = read_ways(SESSION_WAY_SHORT);
	assert_int_equal(ways->lone_count, 1);
	assert_true(ways->lone_ns[0] == 70);
	assert_int_equal(ways->hot_count, SAMPLES_BEFORE - 1);
	assert_int_equal(count_fds(), fds);
	/* It is there, and not started again. */
	assert_int_equal(start(SESSION_WAY_SHORT), 0);
	assert_string_equal(fake.told, "bpt");
	assert_int_equal(start(SESSION_WAY_LONG), 0);
	assert_int_equal(fake.flags, PROCESS_IS_LEAN);
	assert_true(calibrations_own(&fake.session, FIRST_LIFE));
	assert_true(calibrations_own(&fake.session, FIRST_LIFE + 1));
}

static void expect_told(const char *told)
{
	assert_string_equal(fake.told, told);
	fake.told[0] = '\0';
}

FIXTURE_TEST(calibration_process_start_failure_leaves_nothing_behind)
{
	size_t fds = count_fds();

	fake.begin_error = -E2BIG;
	assert_int_equal(start(SESSION_WAY_SHORT), -E2BIG);
	expect_told("bn");
	assert_true(fake.last > 0);
	assert_int_equal(fake.last_life, 0);
	fake.begin_error = 0;
	fake.set_error = -EDQUOT;
	assert_int_equal(start(SESSION_WAY_SHORT), -EDQUOT);
	expect_told("bpn");
	assert_int_equal(fake.last_life, FIRST_LIFE);
	fake.set_error = 0;
	fake.register_error = -EIO;
	assert_int_equal(start(SESSION_WAY_SHORT), -EIO);
	expect_told("bptn");
	fake.register_error = 0;
	fake.samples = SAMPLES_BEFORE - 1;
	fake.ends = true;
	assert_int_equal(start(SESSION_WAY_SHORT), -ECHILD);
	expect_told("bptn");
	assert_true(fake.last > 0);
	assert_int_equal(fake.last_life, FIRST_LIFE + 2);
	fake.cpus = -EMFILE;
	assert_int_equal(start(SESSION_WAY_SHORT), -EMFILE);
	expect_told("n");
	assert_int_equal(fake.last, 0);
	assert_int_equal(fake.last_life, 0);
	memory_fails_after(0);
	assert_int_equal(start(SESSION_WAY_SHORT), -ENOMEM);
	memory_never_fails();
	assert_false(session_has_calibration(&fake.session, SESSION_WAY_SHORT));
	assert_int_equal(count_fds(), fds);
}

FIXTURE_TEST(calibration_process_logs_slow_start_once_and_times_out)
{
	struct ears ears = ears_open();
	const char *at;
	char said[1024];

	fake.samples = SAMPLES_BEFORE - 1;
	fake.wait_ns = NS_PER_S;
	assert_int_equal(start(SESSION_WAY_SHORT), -ETIMEDOUT);
	ears_close(&ears, said, sizeof(said));
	at = strstr(said, "the machine is busy");
	assert_non_null(at);
	assert_null(strstr(at + 1, "the machine is busy"));
	assert_in_range(fake.waited_ns, 15 * NS_PER_S, 16 * NS_PER_S);
	/* While something is recorded, not so long. */
	fake.samples = SAMPLES_BEFORE;
	fake.wait_ns = 0;
	assert_int_equal(start(SESSION_WAY_SHORT), 0);
	fake.samples = SAMPLES_BEFORE - 1;
	fake.waited_ns = 0;
	fake.wait_ns = NS_PER_S;
	assert_int_equal(start(SESSION_WAY_LONG), -ETIMEDOUT);
	assert_in_range(fake.waited_ns, 5 * NS_PER_S, 6 * NS_PER_S);
}

FIXTURE_TEST(calibration_process_start_is_interrupted_by_pending_signal)
{
	struct ears ears;
	sigset_t signals;
	char said[1024];

	assert_int_equal(sigemptyset(&signals), 0);
	assert_int_equal(sigaddset(&signals, SIGINT), 0);
	assert_int_equal(sigprocmask(SIG_BLOCK, &signals, NULL), 0);
	assert_int_equal(raise(SIGINT), 0);
	fake.samples = SAMPLES_BEFORE - 1;
	fake.wait_ns = NS_PER_S;
	ears = ears_open();
	assert_int_equal(start(SESSION_WAY_SHORT), -EINTR);
	ears_close(&ears, said, sizeof(said));
	assert_string_equal(said, "");
	assert_string_equal(fake.told, "bptn");
	assert_in_range(fake.waited_ns, 0, NS_PER_S);
	assert_int_equal(sigwaitinfo(&signals, NULL), SIGINT);
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &signals, NULL), 0);
}

FIXTURE_TEST(calibration_process_that_ended_is_owned_until_forgotten)
{
	siginfo_t info = { 0 };
	pid_t pid;

	session_end_calibration(&fake.session, SESSION_WAY_SHORT);
	assert_int_equal(start(SESSION_WAY_SHORT), 0);
	pid = fake.last;
	/* Not while it goes on. */
	calibration_forget(&fake.session, fake.session.calibrations[SESSION_WAY_SHORT]);
	assert_string_equal(fake.told, "bpt");
	session_end_calibration(&fake.session, SESSION_WAY_SHORT);
	/* It has ended, and its pid stays its own. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(info.si_code, CLD_KILLED);
	assert_int_equal(info.si_status, SIGKILL);
	session_end_calibration(&fake.session, SESSION_WAY_SHORT);
	assert_int_equal(kill(pid, 0), 0);
	assert_false(session_has_calibration(&fake.session, SESSION_WAY_SHORT));
	assert_int_equal(read_ways(SESSION_WAY_SHORT)->hot_count, 0);
	assert_int_equal(read_ways(SESSION_WAY_SHORT)->lone_count, 0);
	assert_int_equal(read_ways(SESSION_WAY_SHORT)->slept_count, 0);
	assert_true(calibrations_own(&fake.session, FIRST_LIFE));
	assert_int_equal(kill(pid, 0), 0);
	for (int i = 0; i < 2; i++)
		calibration_forget(&fake.session, fake.session.calibrations[SESSION_WAY_SHORT]);
	assert_string_equal(fake.told, "bptn");
	assert_int_equal(fake.last, pid);
	assert_int_equal(fake.last_life, FIRST_LIFE);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_false(calibrations_own(&fake.session, FIRST_LIFE));
	/* Another one has its place. */
	assert_int_equal(start(SESSION_WAY_SHORT), 0);
	assert_string_equal(fake.told, "bptnbpt");
	assert_true(calibrations_own(&fake.session, FIRST_LIFE + 1));
	assert_true(read_ways(SESSION_WAY_SHORT)->hot_count > 0);
}

FIXTURE_TEST(calibration_process_that_ended_is_forgotten_by_next_start)
{
	assert_int_equal(start(SESSION_WAY_LONG), 0);
	session_end_calibration(&fake.session, SESSION_WAY_LONG);
	assert_int_equal(start(SESSION_WAY_LONG), 0);
	assert_string_equal(fake.told, "bptnbpt");
}

FIXTURE_TEST(calibration_process_detects_unexpected_exit)
{
	siginfo_t info;

	assert_int_equal(start(SESSION_WAY_SHORT), 0);
	assert_int_equal(kill(fake.last, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)fake.last, &info, WEXITED | WNOWAIT), 0);
	assert_true(session_has_calibration(&fake.session, SESSION_WAY_SHORT));
	assert_int_equal(read_ways(SESSION_WAY_SHORT)->hot_count, 0);
	assert_false(session_has_calibration(&fake.session, SESSION_WAY_SHORT));
	/* Nor is its pid anybody else's before its last accounts were taken. */
	assert_int_equal(kill(fake.last, 0), 0);
	assert_true(calibrations_own(&fake.session, FIRST_LIFE));
	calibration_forget(&fake.session, fake.session.calibrations[SESSION_WAY_SHORT]);
	assert_string_equal(fake.told, "bptn");
	assert_int_equal(kill(fake.last, 0), -1);
}

FIXTURE_TEST(calibration_process_cpu_time_includes_ended_processes)
{
	assert_int_equal(session_calibration_cpu_ns(&fake.session), 0);
	assert_int_equal(start(SESSION_WAY_SHORT), 0);
	fake.cpu_ns = 2 * NS_PER_S + 5;
	assert_int_equal(session_calibration_cpu_ns(&fake.session), 2 * NS_PER_S + 5);
	/* Of one whose clock is gone, what it had. */
	fake.cpu_ns = 0;
	assert_int_equal(session_calibration_cpu_ns(&fake.session), 2 * NS_PER_S + 5);
	fake.cpu_ns = 3 * NS_PER_S;
	session_end_calibration(&fake.session, SESSION_WAY_SHORT);
	fake.cpu_ns = 9 * NS_PER_S;
	assert_int_equal(session_calibration_cpu_ns(&fake.session), 3 * NS_PER_S);
	fake.cpu_ns = 10;
	assert_int_equal(start(SESSION_WAY_SHORT), 0);
	assert_int_equal(start(SESSION_WAY_LONG), 0);
	assert_int_equal(session_calibration_cpu_ns(&fake.session), 3 * NS_PER_S + 20);
	session_end_calibration(&fake.session, SESSION_WAY_SHORT);
	assert_int_equal(start(SESSION_WAY_SHORT), 0);
	assert_int_equal(session_calibration_cpu_ns(&fake.session), 3 * NS_PER_S + 30);
}
