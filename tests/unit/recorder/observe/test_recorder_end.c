/* SPDX-License-Identifier: GPL-2.0-only */
/* How a recording ends: by a signal, with its targets, with a command, and whom it waits for. */
#include "unit_test.h"

#include "recorder/observe/recorder.h"

#include <fcntl.h>
#include <signal.h>

#include "recorder/observe/fake_recorder.h"

UNIT_TEST_ALONE;

static void run_much(void)
{
	for (uint32_t thread = 1; thread <= FAKE_ACCOUNTS_MAX; thread++)
		charge(0, thread, CONTEXT_HASH_NONE, 1);
}

static void interrupt(void)
{
	fake.signal = SIGINT;
}

static void terminate(void)
{
	fake.signal = SIGTERM;
}

static void end(void)
{
	fake.are_over = true;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(recorder_ends_on_signal_with_time_charged_so_far)
{
	const uint64_t end_ns = NS_PER_S / 2;

	plan(NS_PER_S / 4, run_a_request);
	plan(end_ns, interrupt);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_windows(&end_ns, &end_ns, 1);
	assert_non_null(strstr(recorded(), "cpu 0 r1 600\n"));
}

FIXTURE_TEST(recorder_returns_interrupted_if_nothing_ran_before_sigint)
{
	plan(NS_PER_S / 2, interrupt);
	assert_int_equal(record(), EXIT_CODE_INTERRUPTED);
	(void)set_up(state);
	plan(NS_PER_S / 2, terminate);
	assert_int_equal(record(), EXIT_CODE_OK);
}

FIXTURE_TEST(recorder_ends_with_its_targets)
{
	const uint64_t end_ns = NS_PER_S / 2;

	plan(end_ns, end);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_windows(&end_ns, &end_ns, 1);
}

static char *const command[] = { "rails", NULL };

/* `-- rails`, which ends after so long, if it does, with that code. */
static void start_a_command(uint64_t after_ns, void (*end_it)(void), int code)
{
	fake.recording.targets.command = command;
	fake.has_command = true;
	fake.command_code = code;
	if (end_it)
		plan(after_ns, end_it);
}

static void end_the_command(void)
{
	fake.has_command_ended = true;
}

static void type_an_interrupt(void)
{
	fake.signal = SIGINT;
	fake.is_typed = true;
}

FIXTURE_TEST(recorder_ends_with_command_and_returns_its_exit_code)
{
	const uint64_t end_ns = NS_PER_S / 2;

	start_a_command(end_ns, end_the_command, 42);
	assert_int_equal(record(), 42);
	expect_windows(&end_ns, &end_ns, 1);
	expect_said("starting rails, writing to ");
	assert_null(strstr(fake.said, "goes on"));
	expect_said("no context was published: is the gem");
	(void)set_up(state);
	start_a_command(end_ns, end_the_command, 0);
	fake.has_published = true;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_null(strstr(fake.said, "no context was published"));
}

FIXTURE_TEST(recorder_forwards_sigterm_and_records_until_command_ends)
{
	const uint64_t end_ns = 3 * NS_PER_S / 4;

	start_a_command(end_ns, end_the_command, 128 + SIGTERM);
	plan(NS_PER_S / 4, terminate);
	assert_int_equal(record(), 128 + SIGTERM);
	expect_told("signal 15\n");
	expect_said(
		"recording until rails has ended; two signals within a second end it at once\n");
	expect_windows(&end_ns, &end_ns, 1);
	/* A terminal has told it already. */
	(void)set_up(state);
	start_a_command(end_ns, end_the_command, 7);
	plan(NS_PER_S / 4, type_an_interrupt);
	assert_int_equal(record(), 7);
	assert_null(strstr(fake.told, "signal"));
}

static void ask_for_logs(void)
{
	fake.signal = SIGUSR1;
}

static void hang_up(void)
{
	fake.signal = SIGHUP;
}

static size_t count_told(const char *part)
{
	size_t count = 0;

	for (const char *at = fake.told; (at = strstr(at, part)); at++)
		count++;
	return count;
}

/* And what ends it, a second after the last one. */
FIXTURE_TEST(recorder_forwards_other_signals_each_time)
{
	const uint64_t end_ns = 7 * NS_PER_S / 2;

	start_a_command(end_ns, end_the_command, 0);
	fake.recording.interval_ns = 10 * NS_PER_S;
	plan(1, ask_for_logs);
	plan(2, hang_up);
	plan(3, ask_for_logs);
	plan(NS_PER_S / 2, terminate);
	plan(NS_PER_S / 2 + 1, hang_up);
	plan(3 * NS_PER_S / 2, terminate);
	plan(5 * NS_PER_S / 2, interrupt);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(count_told("signal 10\n"), 2);
	assert_int_equal(count_told("signal 1\n"), 2);
	assert_int_equal(count_told("signal 15\n"), 2);
	assert_int_equal(count_told("signal 2\n"), 1);
	expect_windows(&end_ns, &end_ns, 1);
}

FIXTURE_TEST(recorder_ignores_other_signals_until_hangup_without_command)
{
	const uint64_t end_ns = NS_PER_S / 2;

	plan(NS_PER_S / 4, ask_for_logs);
	plan(end_ns, hang_up);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_windows(&end_ns, &end_ns, 1);
}

FIXTURE_TEST(recorder_ends_at_once_on_second_signal_unless_echo)
{
	const uint64_t end_ns = NS_PER_S / 4 + SIGNALS_ECHO_NS;

	start_a_command(0, NULL, 0);
	plan(NS_PER_S / 4, terminate);
	plan(NS_PER_S / 4 + SIGNALS_ECHO_NS - 1, terminate);
	plan(end_ns, terminate);
	plan(NS_PER_S / 8, run_a_request);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_windows(&end_ns, &end_ns, 1);
	expect_said("rails (process 4000000) goes on\n");
	/* Another one is no echo. */
	(void)set_up(state);
	start_a_command(0, NULL, 0);
	plan(NS_PER_S / 4, terminate);
	plan(NS_PER_S / 4 + 1, interrupt);
	assert_int_equal(record(), EXIT_CODE_INTERRUPTED);
	assert_non_null(strstr(fake.told, "signal 15\n"));
	assert_null(strstr(fake.told, "signal 2\n"));
}

FIXTURE_TEST(recorder_fails_if_expected_publisher_never_publishes)
{
	fake.recording.duration_ns = NS_PER_S / 2;
	fake.must_publish = true;
	assert_int_equal(record(), EXIT_CODE_NO_TARGET);
	expect_said("no context was published: is the gem");
	(void)set_up(state);
	fake.recording.duration_ns = NS_PER_S / 2;
	fake.must_publish = fake.has_published = true;
	assert_int_equal(record(), EXIT_CODE_OK);
}

/* A pipe whose reader waits: more is written than it has room for. Its reading end. */
static int write_to_a_full_pipe(void)
{
	enum {
		ROOM_BYTES = 4096
	};
	int fd;

	(void)unlink(pipe_path);
	assert_int_equal(mkfifo(pipe_path, 0600), 0);
	fd = open(pipe_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_SETPIPE_SZ, ROOM_BYTES), ROOM_BYTES);
	fake.recording.output.file = pipe_path;
	plan(NS_PER_S / 4, run_much);
	return fd;
}

FIXTURE_TEST(recorder_waits_5_s_for_pipe_reader_after_signal)
{
	_cleanup_fd_ int fd = -1;

	fd = write_to_a_full_pipe();
	plan(NS_PER_S / 2, terminate);
	/* What timeout(1) sends twice is one signal. */
	plan(NS_PER_S / 2 + SIGNALS_ECHO_NS - 1, terminate);
	assert_int_equal(record(), EXIT_CODE_FAILURE);
	assert_int_equal(fake.now_ns - FAKE_START_NS, NS_PER_S / 2 + 5 * NS_PER_S);
	expect_said("waiting for the reader of ");
}

FIXTURE_TEST(recorder_stops_waiting_for_reader_on_second_signal)
{
	_cleanup_fd_ int fd = -1;

	fd = write_to_a_full_pipe();
	plan(NS_PER_S / 2, terminate);
	plan(NS_PER_S / 2 + SIGNALS_ECHO_NS, terminate);
	assert_int_equal(record(), EXIT_CODE_FAILURE);
	assert_int_equal(fake.now_ns - FAKE_START_NS, NS_PER_S / 2 + SIGNALS_ECHO_NS);
}

FIXTURE_TEST(recorder_waits_for_reader_without_limit_until_signal)
{
	_cleanup_fd_ int fd = -1;

	fd = write_to_a_full_pipe();
	fake.recording.duration_ns = NS_PER_S / 2;
	plan(3600 * NS_PER_S, terminate);
	assert_int_equal(record(), EXIT_CODE_FAILURE);
	assert_int_equal(fake.now_ns - FAKE_START_NS, 3605 * NS_PER_S);
}

TEST_GROUP(make_file, remove_file)
