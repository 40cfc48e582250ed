/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "failing_memory.h"
#include "reader/top/recorder.h"
#include "reader/top/source.h"
#include "reader/top/streams.h"

UNIT_TEST_ALONE;

enum {
	T0 = 1000000000 /* of the monotonic clock */
};

static struct history history;
static struct source source;
static size_t naps; /* that were asked for */
static int64_t nap_ns; /* all of them together; -1: they last until a child has ended */

/* In libc's place: no test waits for what takes its time. */
int nanosleep(const struct timespec *length, struct timespec *left)
{
	(void)left;
	naps++;
	if (nap_ns < 0)
		return waitid(P_ALL, 0, NULL, WEXITED | WNOWAIT);
	nap_ns += length->tv_sec * (int64_t)NS_PER_S + length->tv_nsec;
	return 0;
}

static char path[] = "/tmp/correlator-source-XXXXXX";
static FILE *file;

static int setup(void **state)
{
	int fd;

	(void)state;
	(void)strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	file = fdopen(fd, "wb");
	return history_init(&history);
}

static int teardown(void **state)
{
	(void)state;
	source_deinit(&source);
	history_deinit(&history);
	(void)fclose(file);
	(void)unlink(path);
	return 0;
}

/* A record of a window that ends so many milliseconds after the first second. */
static void write_at(FILE *out, const char *kind, uint32_t ms)
{
	struct sample sample;

	sample_record(&sample, "%s pid=42 cpu_ns=1", kind);
	stream_write(out, &sample, ms);
}

static void read_at(uint64_t ms)
{
	assert_int_equal(source_read(&source, &history, T0 + ms * NS_PER_MS), 0);
}

static void expect_due(uint64_t ms)
{
	uint64_t due_ns;
	int fd;

	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(fd, -1);
	assert_int_equal(due_ns, T0 + ms * NS_PER_MS);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(source_replays_file_at_given_speed)
{
	write_at(file, "meta", 0);
	write_at(file, "cpu", 0);
	write_at(file, "cpu", 0);
	write_at(file, "cpu", 1000);
	write_at(file, "cpu", 3000);
	assert_int_equal(source_open(&source, path, 2), 0);
	assert_true(fcntl(source.fd, F_GETFD) & FD_CLOEXEC);
	read_at(0);
	/* The first window is complete, since the second one is not due. */
	assert_int_equal(history_closed_count(&history), 1);
	assert_int_equal(history_window(&history, 0)->record_count, 2);
	expect_due(500);
	read_at(499);
	assert_int_equal(history.count, 1);
	read_at(500);
	assert_int_equal(history_closed_count(&history), 2);
	expect_due(1500);
	assert_false(source.has_ended);
	read_at(1500);
	assert_true(source.has_ended);
	assert_int_equal(history_closed_count(&history), 3);
	assert_int_equal(source_exit_code(&source), 0);
	read_at(1501);
	assert_int_equal(history.count, 3);
}

FIXTURE_TEST(source_shortens_long_gap_in_replay)
{
	write_at(file, "cpu", 0);
	write_at(file, "cpu", 60000);
	write_at(file, "cpu", 61000);
	assert_int_equal(source_open(&source, path, 1), 0);
	read_at(0);
	expect_due(SOURCE_GAP_SECONDS * 1000);
	read_at(SOURCE_GAP_SECONDS * 1000 - 1);
	assert_int_equal(history.count, 1);
	read_at(SOURCE_GAP_SECONDS * 1000);
	assert_int_equal(history.count, 2);
	expect_due(SOURCE_GAP_SECONDS * 1000 + 1000);
}

FIXTURE_TEST(source_keeps_gap_of_exactly_maximum_length)
{
	write_at(file, "cpu", 0);
	write_at(file, "cpu", SOURCE_GAP_SECONDS * 1000);
	write_at(file, "cpu", SOURCE_GAP_SECONDS * 1000 + 500);
	assert_int_equal(source_open(&source, path, 1), 0);
	read_at(0);
	expect_due(SOURCE_GAP_SECONDS * 1000);
	read_at(SOURCE_GAP_SECONDS * 1000);
	expect_due(SOURCE_GAP_SECONDS * 1000 + 500);
}

FIXTURE_TEST(source_delivers_older_timestamp_at_once)
{
	write_at(file, "cpu", 2000);
	write_at(file, "cpu", 1000);
	write_at(file, "cpu", 2500);
	assert_int_equal(source_open(&source, path, 1), 0);
	read_at(0);
	assert_int_equal(history.count, 1);
	assert_int_equal(history_window(&history, 0)->record_count, 2);
	expect_due(500);
}

FIXTURE_TEST(source_without_speed_delivers_one_window_per_read)
{
	uint64_t due_ns;
	int fd;

	for (uint32_t window = 0; window < 10; window++)
		write_at(file, "cpu", 1000 * window);
	assert_int_equal(source_open(&source, path, 0), 0);
	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(due_ns, 0);
	/* One window after the other can be shown. */
	for (uint64_t count = 1; count <= 10; count++) {
		assert_false(source.has_ended);
		read_at(0);
		assert_int_equal(history_closed_count(&history), count);
	}
	assert_true(source.has_ended);
	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(due_ns, UINT64_MAX);
	assert_int_equal(fd, -1);
}

FIXTURE_TEST(source_limits_records_per_read)
{
	for (int i = 0; i < SOURCE_READ_MAX + 1; i++)
		write_at(file, "cpu", 0);
	assert_int_equal(source_open(&source, path, 0), 0);
	read_at(0);
	assert_false(source.has_ended);
	assert_int_equal(history.count, 1);
	assert_int_equal(history_window(&history, 0)->record_count, SOURCE_READ_MAX);
	read_at(0);
	assert_true(source.has_ended);
	assert_int_equal(history_window(&history, 0)->record_count, SOURCE_READ_MAX + 1);
}

FIXTURE_TEST(source_closes_window_of_pipe_after_quiet_period)
{
	const uint64_t quiet_ms = SOURCE_QUIET_NS / NS_PER_MS;
	char name[32];
	uint64_t due_ns;
	int fds[2], fd;
	FILE *out;

	assert_int_equal(pipe(fds), 0);
	out = fdopen(fds[1], "wb");
	(void)snprintf(name, sizeof(name), "/dev/fd/%d", fds[0]);
	assert_int_equal(source_open(&source, name, 1), 0);
	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(fd, source.fd);
	assert_int_equal(due_ns, UINT64_MAX);
	read_at(0);
	assert_int_equal(history.count, 0);
	write_at(out, "cpu", 0);
	read_at(10);
	assert_int_equal(history.count, 1);
	assert_int_equal(history_closed_count(&history), 0);
	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(due_ns, T0 + (10 + quiet_ms) * NS_PER_MS);
	read_at(9 + quiet_ms);
	assert_int_equal(history_closed_count(&history), 0);
	write_at(out, "cpu", 0);
	read_at(9 + quiet_ms);
	read_at(10 + quiet_ms);
	assert_int_equal(history_closed_count(&history), 0);
	read_at(9 + 2 * quiet_ms);
	assert_int_equal(history_closed_count(&history), 1);
	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(due_ns, UINT64_MAX);
	assert_int_equal(fclose(out), 0);
	read_at(1000);
	assert_true(source.has_ended);
	(void)close(fds[0]);
}

/* top may open it before the recorder does. */
FIXTURE_TEST(source_waits_for_writer_of_named_pipe)
{
	char name[64];
	int fd;
	FILE *out;

	(void)snprintf(name, sizeof(name), "%s.pipe", path);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_int_equal(source_open(&source, name, 1), 0);
	read_at(0);
	assert_false(source.has_ended);
	fd = open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	out = fdopen(fd, "wb");
	assert_non_null(out);
	read_at(1);
	assert_false(source.has_ended);
	write_at(out, "cpu", 0);
	read_at(2);
	assert_int_equal(history.count, 1);
	assert_int_equal(fclose(out), 0);
	read_at(3);
	assert_true(source.has_ended);
	assert_int_equal(unlink(name), 0);
}

FIXTURE_TEST(source_flags_damaged_recording_and_reads_on)
{
	write_at(file, "cpu", 0);
	assert_int_equal(fputs("garbage", file), 1);
	write_at(file, "cpu", 1000);
	assert_int_equal(source_open(&source, path, 0), 0);
	assert_false(source.is_damaged);
	read_at(0);
	read_at(0);
	assert_true(source.is_damaged);
	assert_int_equal(history.count, 2);
}

FIXTURE_TEST(source_rejects_foreign_and_missing_file)
{
	assert_int_equal(fputs("hello\n", file), 1);
	assert_int_equal(fflush(file), 0);
	assert_int_equal(source_open(&source, path, 0), 0);
	assert_int_equal(source_read(&source, &history, T0), -EBADMSG);
	source_deinit(&source);
	assert_int_equal(source_open(&source, "/nonexistent/file", 0), -ENOENT);
}

FIXTURE_TEST(source_keeps_tail_of_recorder_messages)
{
	char text[1000];
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	source = (struct source){ .fd = -1, .said_fd = fds[0] };
	assert_int_equal(write(fds[1], "one\n", 4), 4);
	source_listen(&source);
	assert_int_equal(write(fds[1], "two\n", 4), 4);
	source_listen(&source);
	assert_string_equal(source.said, "one\ntwo\n");
	assert_int_equal(source.said_fd, fds[0]);
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 5; i++)
		assert_int_equal(write(fds[1], text, sizeof(text)), sizeof(text));
	assert_int_equal(write(fds[1], "end", 3), 3);
	(void)close(fds[1]);
	source_listen(&source);
	assert_int_equal(strlen(source.said), SOURCE_SAID_BYTES - 1);
	assert_string_equal(source.said + SOURCE_SAID_BYTES - 1 - 4, "xend");
	assert_int_equal(source.said_fd, -1);
	source_listen(&source);
}

/* Reads until it has ended, whenever there is something. */
static void read_to_the_end(void)
{
	while (!source.has_ended) {
		struct pollfd fds[2] = { { .events = POLLIN },
					 { .fd = source.said_fd, .events = POLLIN } };
		uint64_t due_ns;

		source_awaits(&source, &fds[0].fd, &due_ns);
		assert_true(poll(fds, 2, 20000) > 0);
		if (fds[1].revents)
			source_listen(&source);
		read_at(0);
	}
}

static void start_recorder(char *const *argv, bool takes_said)
{
	assert_int_equal(source_start(&source, argv, takes_said), 0);
	assert_true(source.recorder > 0);
	assert_int_equal(source.said_fd >= 0, takes_said);
	read_to_the_end();
	assert_int_equal(source.recorder, 0);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

FIXTURE_TEST(source_collects_records_messages_and_status_of_recorder)
{
	char copy[sizeof(path) + 8];
	char *const argv[] = { "top", "say:one", copy, "say:two", "exit:3", NULL };

	(void)snprintf(copy, sizeof(copy), "copy:%s", path);
	write_at(file, "cpu", 0);
	write_at(file, "cpu", 1000);
	start_recorder(argv, true);
	assert_string_equal(source.said, "one\ntwo\n");
	assert_int_equal(source_exit_code(&source), 3);
	assert_int_equal(history_closed_count(&history), 2);
	assert_false(source.is_damaged);
}

FIXTURE_TEST(source_leaves_recorder_messages_on_stderr_if_not_captured)
{
	char *const argv[] = { "top", "say:to whom it may concern", NULL };
	int fds[2], stderr_fd = dup(STDERR_FILENO);
	char said[64] = "";

	assert_int_equal(pipe(fds), 0);
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	start_recorder(argv, false);
	assert_true(dup2(stderr_fd, STDERR_FILENO) >= 0);
	(void)close(stderr_fd);
	(void)close(fds[1]);
	assert_true(read(fds[0], said, sizeof(said) - 1) > 0);
	(void)close(fds[0]);
	assert_string_equal(said, "to whom it may concern\n");
	assert_string_equal(source.said, "");
	assert_int_equal(source_exit_code(&source), 0);
}

/* No terminal, no signal of ours, and none of its own is held back; it ends with us. */
FIXTURE_TEST(source_isolates_recorder_from_terminal_and_signals)
{
	char *const argv[] = { "top", "look round", NULL };
	int fds[2], stdin_fd = dup(STDIN_FILENO);
	sigset_t blocked, before;

	/* What is typed is for us. */
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "q", 1), 1);
	assert_int_equal(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
	start_recorder(argv, true);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	assert_int_equal(dup2(stdin_fd, STDIN_FILENO), STDIN_FILENO);
	(void)close(stdin_fd);
	(void)close(fds[0]);
	(void)close(fds[1]);
	assert_int_equal(source_exit_code(&source), 0);
}

FIXTURE_TEST(source_exit_code_of_killed_recorder_includes_signal)
{
	char *const argv[] = { "top", "raise:9", NULL };

	start_recorder(argv, true);
	assert_int_equal(source_exit_code(&source), 128 + 9);
}

/* Starts one that stays, and awaits that it does. */
static pid_t start_one_that_stays(char *how)
{
	char *const argv[] = { "top", how, "say:ready", "stay", NULL };
	struct pollfd said = { .events = POLLIN };

	assert_int_equal(source_start(&source, argv, true), 0);
	said.fd = source.said_fd;
	assert_int_equal(poll(&said, 1, 20000), 1);
	return source.recorder;
}

FIXTURE_TEST(source_deinit_terminates_recorder_and_closes_pipes)
{
	pid_t pid = start_one_that_stays("leave when told");
	int fd = source.fd, said_fd = source.said_fd;

	/* Nothing has come, and nobody waits for it. */
	read_at(0);
	assert_false(source.has_ended);
	assert_true(fcntl(fd, F_GETPIPE_SZ) >= 1024 * 1024);
	nap_ns = -1;
	naps = 0;
	source_deinit(&source);
	assert_in_range(naps, 0, 1);
	assert_int_equal(kill(pid, 0), -1);
	assert_false(is_open(fd));
	assert_false(is_open(said_fd));
	assert_int_equal(source.recorder, 0);
	/* A second time it has nothing to close. */
	source_deinit(&source);
	assert_true(is_open(STDIN_FILENO));
}

FIXTURE_TEST(source_deinit_kills_stubborn_recorder_after_five_seconds)
{
	pid_t pid = start_one_that_stays("be stubborn");

	nap_ns = 0;
	source_deinit(&source);
	assert_int_equal(nap_ns, 5 * (int64_t)NS_PER_S);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

FIXTURE_TEST(source_deinit_skips_wait_for_exited_recorder)
{
	char *const argv[] = { "top", "exit:0", NULL };

	start_recorder(argv, true);
	naps = 0;
	source_deinit(&source);
	assert_int_equal(naps, 0);
}

FIXTURE_TEST(source_start_fails_with_emfile_without_descriptors)
{
	char *const argv[] = { "top", "stay", NULL };
	struct rlimit before, none;
	int lowest = dup(STDIN_FILENO);

	(void)close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (int more = 0; more < 4; more++) {
		int r;

		none = before;
		none.rlim_cur = (rlim_t)(lowest + more);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		r = source_start(&source, argv, true);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_int_equal(r, -EMFILE);
		assert_int_equal(source.recorder, 0);
		source_deinit(&source);
		/* Those of the first pipe are the ends of a program that ends, too. */
		for (int fd = lowest; fd < lowest + 4; fd++)
			(void)close(fd);
	}
}

FIXTURE_TEST(source_start_fails_with_enomem_when_allocation_fails)
{
	char *const argv[] = { "top", "stay", NULL };
	size_t failures = 0;

	assert_each_allocation_can_fail(
		source_start(&source, argv, true),
		(failures++, assert_int_equal(source.recorder, 0), source_deinit(&source)));
	source_deinit(&source);
	assert_true(failures > 1);
}

FIXTURE_TEST(source_read_fails_with_enomem_when_allocation_fails)
{
	write_at(file, "cpu", 0);
	assert_int_equal(source_open(&source, path, 0), 0);
	assert_each_allocation_can_fail(
		source_read(&source, &history, T0),
		(source_deinit(&source), assert_int_equal(source_open(&source, path, 0), 0)));
	assert_int_equal(history.count, 1);
}

FIXTURE_TEST(source_reads_standard_input_without_pacing)
{
	int fds[2], stdin_fd = dup(STDIN_FILENO), fd;
	uint64_t due_ns;
	FILE *out;

	assert_int_equal(pipe(fds), 0);
	assert_true(dup2(fds[0], STDIN_FILENO) >= 0);
	out = fdopen(fds[1], "wb");
	assert_int_equal(source_open(&source, "-", 1), 0);
	assert_true(dup2(stdin_fd, STDIN_FILENO) >= 0);
	(void)close(stdin_fd);
	(void)close(fds[0]);
	assert_true(source.fd > STDERR_FILENO);
	assert_true(fcntl(source.fd, F_GETFD) & FD_CLOEXEC);
	read_at(0);
	assert_false(source.has_ended);
	write_at(out, "cpu", 0);
	write_at(out, "cpu", 60000);
	read_at(0);
	read_at(0);
	assert_int_equal(history.count, 2);
	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(fd, source.fd);
	assert_int_equal(fclose(out), 0);
	read_at(0);
	assert_true(source.has_ended);
}

FIXTURE_TEST(source_exit_code_decodes_wait_status)
{
	source = (struct source){ .fd = -1, .said_fd = -1, .exit_status = 4 << 8 };
	assert_int_equal(source_exit_code(&source), 4);
	source.exit_status = 9;
	assert_int_equal(source_exit_code(&source), 128 + 9);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return recorder_main(argv + 1);
	return unit_test_run(NULL);
}
