/* SPDX-License-Identifier: GPL-2.0-only */
/* How long is waited for what does not come, and who is left alone for how long: time is a number,
 * and deadlines pass ten times as fast. */
#include "recorder/target/proc/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "recorder/target/hanging_file.h"

UNIT_TEST_ALONE;

enum {
	FIRST_PID = 1000000000, /* more than pid_max */
	GIVEN_UP = 256,
	DEADLINE_MIN_MS = 10,
	LINE_FDS = 6, /* two pipes and a pair of sockets */
	HURRY = 10,
	LONG_NS = 700 * 1000 * 1000 / HURRY, /* more than one deadline */
};

static uint64_t now_ns = 1;
static int deadline_ms; /* the first one since it was 0 */
static int poll_error; /* of the next call; 0 = none */
static bool is_answer_late; /* it comes between the next two calls */
static int late_timeout_ms; /* of the second of them */
static pid_t permitted; /* who alone may read memory; 0 = everybody */

uint64_t clock_monotonic_ns(void)
{
	return now_ns;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	const struct timespec timeout = { .tv_nsec = timeout_ms * (long)NS_PER_MS / HURRY };

	if (!deadline_ms)
		deadline_ms = timeout_ms;
	if (poll_error) {
		errno = poll_error;
		poll_error = 0;
		return -1;
	}
	if (is_answer_late) {
		is_answer_late = false;
		late_timeout_ms = -1;
		(void)ppoll(fds, count, NULL, NULL);
		return 0;
	}
	if (late_timeout_ms < 0)
		late_timeout_ms = timeout_ms;
	return ppoll(fds, count, &timeout, NULL);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
			 const struct iovec *remote, unsigned long remote_count,
			 unsigned long flags)
{
	if (permitted && permitted != getpid()) {
		errno = EPERM;
		return -1;
	}
	return syscall(SYS_process_vm_readv, pid, local, local_count, remote, remote_count, flags);
}

/* Works on for longer than a deadline, by its own CPU time. */
static int work_long(int identifier, int fd, uint64_t *ret_identity)
{
	struct timespec used;

	(void)identifier;
	(void)fd;
	do {
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec == 0 && used.tv_nsec < LONG_NS);
	*ret_identity = 77;
	return 0;
}

/* What is said while a process's file does not come; "" = nothing. */
static void hang(pid_t pid, char text[static 256])
{
	int saved = dup(STDERR_FILENO), fds[2];
	int file = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	uint64_t identity;
	ssize_t got;

	assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	deadline_ms = 0;
	assert_int_equal(agent_identify_file(pid, " x", file, &identity), -ETIMEDOUT);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	got = read(fds[0], text, 255);
	text[got > 0 ? got : 0] = '\0';
	(void)close(saved);
	(void)close(file);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void hang_within(pid_t pid, int expected_ms)
{
	char text[256], expected[256];

	(void)snprintf(expected, sizeof(expected),
		       "correlator: warning: process %d: its file  x does not come within %d ms: "
		       "given up\n",
		       (int)pid, expected_ms);
	hang(pid, text);
	assert_int_equal(deadline_ms, expected_ms);
	assert_string_equal(text, expected);
}

/* Nobody is left alone any more, and all hangs are forgiven, one each 10 s and while somebody asks:
 * the agent is given time again, which it needs where it waits for a CPU. */
static int set_up(void **state)
{
	(void)state;
	now_ns += 2 * 3600 * NS_PER_S;
	for (int i = 0; i < 2 * GIVEN_UP; i++) {
		now_ns += 10 * NS_PER_S;
		assert_false(agent_has_given_up(1));
	}
	agent_set_identifier(wait_for_ever, STDIN_FILENO);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	agent_set_identifier(NULL, -1);
	return 0;
}

#define TIMED(test) TEST_WITH(test, set_up, tear_down)

TIMED(agent_is_awaited_while_it_uses_cpu)
{
	int file = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	uint64_t identity = 0;

	agent_set_identifier(work_long, STDIN_FILENO);
	assert_int_equal(agent_identify_file(getpid(), "x", file, &identity), 0);
	assert_int_equal(identity, 77);
	assert_true(agent_cpu_ns() >= LONG_NS);
	(void)close(file);
	/* The CPU time that the agent used stays known after its end. */
	agent_set_identifier(NULL, -1);
	assert_true(agent_cpu_ns() >= LONG_NS);
}

TIMED(agent_halves_patience_per_hang_and_restores_it_over_time)
{
	static const int deadlines_ms[] = { 500, 250, 125, 62, 31, 15, 10, 10 };
	pid_t pid = FIRST_PID;

	for (size_t i = 0; i < sizeof(deadlines_ms) / sizeof(*deadlines_ms); i++)
		hang_within(pid++, deadlines_ms[i]);
	/* Eight hangs, one of them forgiven each 10 s, and only while somebody asks. */
	for (int i = 0; i < 4; i++) {
		now_ns += 10 * NS_PER_S - 1;
		assert_false(agent_has_given_up(1));
		now_ns += 1;
		assert_false(agent_has_given_up(1));
		assert_false(agent_has_given_up(1));
	}
	hang_within(pid++, 31);
	now_ns += 10 * NS_PER_S;
	assert_false(agent_has_given_up(1));
	hang_within(pid, 31);
}

TIMED(agent_skips_hanging_process_for_doubling_periods)
{
	static const uint64_t pauses_s[] = { 60, 120, 240, 480, 960, 1920, 3840, 3840 };
	char text[256];

	for (int i = 0; i < 12; i++)
		hang(FIRST_PID + 40, text);
	for (size_t i = 0; i < sizeof(pauses_s) / sizeof(*pauses_s); i++) {
		hang(FIRST_PID + 50, text);
		/* It is said once. */
		assert_int_equal(text[0] == '\0', i > 0);
		assert_true(agent_has_given_up(FIRST_PID + 50));
		assert_false(agent_has_given_up(FIRST_PID + 51));
		now_ns += pauses_s[i] * NS_PER_S - 1;
		assert_true(agent_has_given_up(FIRST_PID + 50));
		now_ns += 1;
		assert_false(agent_has_given_up(FIRST_PID + 50));
	}
}

static size_t count_children(void)
{
	FILE *file = fopen("/proc/thread-self/children", "re");
	size_t count = 0;

	assert_non_null(file);
	while (fscanf(file, "%*d") != EOF)
		count++;
	(void)fclose(file);
	return count;
}

TIMED(agent_killed_after_hang_leaves_no_zombie)
{
	uint64_t word = 7, copy = 0;
	struct memory_span span = { (uintptr_t)&word, &copy, sizeof(copy) };
	char text[256];

	for (int i = 0; i < 70; i++)
		hang(FIRST_PID + 55, text);
	do {
		assert_int_equal(agent_read_memory(getpid(), getpid(), &span, 1), 0);
	} while (count_children() > 1);
	assert_int_equal(copy, 7);
}

/* Where the next descriptor goes: all below it are in use. */
static int next_fd(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)close(fd);
	return fd;
}

TIMED(agent_failed_start_leaks_no_descriptor)
{
	uint64_t word = 7, copy = 0;
	struct memory_span span = { (uintptr_t)&word, &copy, sizeof(copy) };
	struct rlimit before, few;
	int first = next_fd();

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (int left = 0; left < LINE_FDS; left++) {
		few = (struct rlimit){ .rlim_cur = (rlim_t)(first + left),
				       .rlim_max = before.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		assert_int_equal(agent_read_memory(getpid(), getpid(), &span, 1), -EMFILE);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_int_equal(next_fd(), first);
	}
	assert_int_equal(agent_read_memory(getpid(), getpid(), &span, 1), 0);
	assert_int_equal(copy, 7);
	agent_set_identifier(NULL, -1);
	assert_int_equal(next_fd(), first);
}

/* Its line is made of the lowest that are free, which are those that it has them at. */
TIMED(agent_works_without_open_standard_descriptors)
{
	int status;
	pid_t child;

	for (int lowest = 0; lowest <= LINE_FDS; lowest++) {
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			uint64_t word = 7, copy = 0;
			struct memory_span span = { (uintptr_t)&word, &copy, sizeof(copy) };

			for (int fd = lowest; fd < 3 * LINE_FDS; fd++)
				(void)close(fd);
			_exit(agent_read_memory(getpid(), getpid(), &span, 1) < 0 || copy != 7);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

TIMED(agent_rejects_file_request_without_descriptor)
{
	uint64_t identity = 77;
	char byte;

	assert_int_equal(agent_read_file(getpid(), "x", -1, 0, &byte, 1), -EBADF);
	assert_int_equal(agent_identify_file(getpid(), "x", -1, &identity), -EBADF);
	assert_int_equal(identity, 77);
}

/* Runs in the agent: the input's words backwards, and all of its room. */
static int answer_backwards(int fd, const void *input, void *ret_output)
{
	const uint64_t *words = input;
	uint64_t *answer = ret_output;
	size_t count = AGENT_DATA_BYTES / sizeof(*words);

	for (size_t i = 0; i < count; i++)
		answer[i] = words[count - 1 - i];
	return fd == -1 ? 0 : -EBADF;
}

static int refuse(int fd, const void *input, void *ret_output)
{
	(void)fd;
	(void)input;
	memset(ret_output, 1, AGENT_DATA_BYTES);
	return -EINVAL;
}

static int never_return(int fd, const void *input, void *ret_output)
{
	(void)fd;
	(void)ret_output;
	for (;;)
		if (strcmp(input, "exit") == 0)
			_exit(0);
}

static int read_start(int fd, const void *input, void *ret_output)
{
	(void)input;
	return pread(fd, ret_output, 4, 0) == 4 ? 0 : -EIO;
}

static int call(int (*function)(int fd, const void *input, void *ret_output), const void *input,
		size_t input_bytes, void *output, size_t output_bytes)
{
	const struct agent_call call = { function, input, input_bytes, output, output_bytes };

	return agent_call(0, NULL, -1, &call);
}

TIMED(agent_calls_function)
{
	uint64_t words[AGENT_DATA_BYTES / sizeof(uint64_t)], answer[2] = { 0 };
	size_t last = sizeof(words) / sizeof(words[0]) - 1;

	for (size_t i = 0; i <= last; i++)
		words[i] = i;
	assert_int_equal(call(answer_backwards, words, sizeof(words), answer, 8), 0);
	assert_int_equal(answer[0], last);
	assert_int_equal(answer[1], 0);
	assert_int_equal(call(refuse, words, 8, answer, sizeof(answer)), -EINVAL);
	assert_int_equal(answer[0], last);
}

TIMED(agent_calls_function_with_file_of_process)
{
	char start[4] = "";
	const struct agent_call with_file = { read_start, "", 0, start, sizeof(start) };
	int file = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	char text[256];

	assert_int_equal(agent_call(getpid(), "x", file, &with_file), 0);
	assert_memory_equal(start, "\177ELF", 4);
	hang(FIRST_PID + 70, text);
	assert_int_equal(agent_call(FIRST_PID + 70, "x", file, &with_file), -ETIMEDOUT);
	(void)close(file);
}

/* Also if we ignore and block its timer's signal. */
TIMED(agent_ends_function_that_does_not_return)
{
	static const char *const ways[] = { "exit", "loop" };
	uint64_t word = 7;
	sigset_t timer;

	(void)sigemptyset(&timer);
	(void)sigaddset(&timer, SIGPROF);
	assert_int_equal(sigprocmask(SIG_BLOCK, &timer, NULL), 0);
	assert_true(signal(SIGPROF, SIG_IGN) != SIG_ERR);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(call(never_return, ways[i], 5, &word, sizeof(word)), -EPIPE);
		assert_int_equal(word, 7);
	}
	assert_true(signal(SIGPROF, SIG_DFL) != SIG_ERR);
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &timer, NULL), 0);
	/* The next one is well, for as many calls as come. */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(call(answer_backwards, &word, sizeof(word), &word, 0), 0);
	assert_false(agent_has_given_up(getpid()));
	assert_false(agent_has_given_up(0));
}

TIMED(agent_refuses_all_requests_for_skipped_process)
{
	struct agent_file_names names = { .by_path = "/proc/self/exe" };
	struct memory_span span = { 0x1000, &names, 8 };
	struct stat status;
	char text[256];

	hang(FIRST_PID + 60, text);
	assert_int_equal(agent_read_memory(FIRST_PID + 60, FIRST_PID + 60, &span, 1), -ETIMEDOUT);
	assert_int_equal(agent_open_file(FIRST_PID + 60, "x", &names, &status), -ETIMEDOUT);
	assert_int_equal(agent_stat_file(FIRST_PID + 60, "x", &names, &status), -ETIMEDOUT);
	assert_int_equal(agent_read_memory(FIRST_PID + 61, FIRST_PID + 61, &span, 1), -ESRCH);
}

TIMED(agent_remembers_last_256_skipped_processes)
{
	char text[256];

	for (int i = 0; i < 3; i++)
		hang(FIRST_PID + 100, text);
	for (pid_t i = 1; i <= GIVEN_UP; i++) {
		now_ns++;
		hang(FIRST_PID + 100 + i, text);
		assert_true(agent_has_given_up(FIRST_PID + 100 + i));
	}
	for (pid_t i = 1; i <= GIVEN_UP; i++)
		if (!agent_has_given_up(FIRST_PID + 100 + i))
			/* The first one hung so often that it is left alone for longer. */
			assert_int_equal(i, 1);
	assert_true(agent_has_given_up(FIRST_PID + 100));
	assert_false(agent_has_given_up(FIRST_PID + 101));
}

/* A file of ours, by whose path another one may be, and no mapping. */
TIMED(agent_opens_file_by_mapping_or_else_by_path)
{
	struct agent_file_names names = { .by_mapping = "/proc/self/map_files/0-0" };
	struct stat status = { 0 }, own;
	int fd;

	assert_int_equal(stat("/proc/self/exe", &own), 0);
	(void)snprintf(names.by_path, sizeof(names.by_path), "/proc/%d/exe", getpid());
	names.inode = own.st_ino;
	assert_int_equal(agent_stat_file(getpid(), "x", &names, &status), 0);
	assert_int_equal(status.st_ino, own.st_ino);
	names.inode++;
	assert_int_equal(agent_stat_file(getpid(), "x", &names, &status), -ESTALE);
	assert_int_equal(agent_open_file(getpid(), "x", &names, &status), -ESTALE);
	/* What is mapped is it, whatever its path holds. */
	memcpy(names.by_mapping, names.by_path, sizeof(names.by_mapping));
	(void)snprintf(names.by_path, sizeof(names.by_path), "/dev/null");
	status.st_ino = 0;
	assert_int_equal(agent_stat_file(getpid(), "x", &names, &status), 0);
	assert_int_equal(status.st_ino, own.st_ino);
	status.st_ino = 0;
	fd = agent_open_file(getpid(), "x", &names, &status);
	assert_true(fd >= 0);
	assert_int_equal(status.st_ino, own.st_ino);
	(void)close(fd);
	(void)snprintf(names.by_mapping, sizeof(names.by_mapping), "/no/such/file");
	names.by_path[0] = '\0';
	assert_int_equal(agent_stat_file(getpid(), "x", &names, &status), -ENOENT);
	assert_int_equal(agent_open_file(getpid(), "x", &names, &status), -ENOENT);
	/* What is no file to read has a status, and is not opened. */
	(void)snprintf(names.by_mapping, sizeof(names.by_mapping), "/dev/null");
	assert_int_equal(agent_stat_file(getpid(), "x", &names, &status), 0);
	assert_int_equal(agent_open_file(getpid(), "x", &names, &status), -ESTALE);
}

static int read_a_word(uint64_t *ret_copy)
{
	static const uint64_t word = 0x1122334455667788;
	struct memory_span span = { (uintptr_t)&word, ret_copy, sizeof(*ret_copy) };

	*ret_copy = 0;
	return agent_read_memory(getpid(), getpid(), &span, 1);
}

TIMED(agent_wait_survives_signal_and_returns_poll_error)
{
	uint64_t copy;

	poll_error = EINTR;
	assert_int_equal(read_a_word(&copy), 0);
	assert_int_equal(copy, 0x1122334455667788);
	poll_error = ENOMEM;
	assert_int_equal(read_a_word(&copy), -ENOMEM);
	assert_int_equal(copy, 0);
	assert_false(agent_has_given_up(getpid()));
	assert_int_equal(read_a_word(&copy), 0);
}

TIMED(agent_accepts_answer_just_after_deadline)
{
	uint64_t copy;

	is_answer_late = true;
	assert_int_equal(read_a_word(&copy), 0);
	assert_int_equal(copy, 0x1122334455667788);
	/* Unless it was at work just then, it is not waited for any more. */
	assert_true(late_timeout_ms == 0 || late_timeout_ms >= DEADLINE_MIN_MS);
}

TIMED(agent_falls_back_to_own_read_if_not_permitted)
{
	uint64_t copy;
	int r;

	permitted = getpid();
	agent_set_identifier(NULL, -1);
	r = read_a_word(&copy);
	permitted = 0;
	agent_set_identifier(NULL, -1);
	assert_int_equal(r, 0);
	assert_int_equal(copy, 0x1122334455667788);
}

TIMED(agent_reads_file_from_given_offset)
{
	int file = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	char expected[8], bytes[8] = { 0 };
	FILE *whole = fopen("/proc/self/exe", "re");

	assert_non_null(whole);
	assert_int_equal(fseek(whole, 1, SEEK_SET), 0);
	assert_int_equal(fread(expected, sizeof(expected), 1, whole), 1);
	(void)fclose(whole);
	assert_int_equal(agent_read_file(getpid(), "x", file, 1, bytes, sizeof(bytes)), 0);
	assert_memory_equal(bytes, expected, sizeof(bytes));
	(void)close(file);
}
