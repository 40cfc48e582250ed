/* SPDX-License-Identifier: GPL-2.0-only */
#include "observe/recording.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "failing_memory.h"
#include "observe/fake_targets.h"
#include "record/record_reader.h"

enum {
	SOME = CONTEXT_HASH_FIRST
};

static char path[] = "/tmp/test_recording.XXXXXX";
static char recorded_text[FAKE_TEXT_BYTES];
static char pipe_path[sizeof(path) + 8];
static size_t fake_successes;

static int set_up(void **state)
{
	(void)state;
	fake_reset();
	/* What was used before it began is no part of it. */
	fake.own_cpu_ns = 12345;
	fake.recording = (struct recording_options){
		.keys = { .names = { "request_id" },
			  .record_names = { "request_id" },
			  .ruby_names = { "request_id" },
			  .count = 1,
			  .ruby_count = 1 },
		.output = path,
		.overwrites = true,
		.interval_ns = NS_PER_S,
		.has_kernel_split = true,
		.measures_programs = true,
	};
	return 0;
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	(void)snprintf(pipe_path, sizeof(pipe_path), "%s.pipe", path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	(void)unlink(pipe_path);
	return unlink(path);
}

/* The exit code. */
static int record(void)
{
	struct recording *recording = NULL;
	int code = recording_start(&fake.recording, &recording);

	if (code == EXIT_CODE_OK)
		code = recording_run(recording);
	recording_free(recording);
	return code;
}

static void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void print(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	append_text(recorded_text, format, list);
	va_end(list);
}

static int64_t number(const struct record_view *view, const char *name)
{
	const struct record_field *field = record_view_find(view, name);

	return field ? field->integer : -1;
}

static const char *text(const struct record_view *view, const char *name)
{
	static char texts[4][256];
	static size_t next;
	struct record_text found = { "-", 1 };
	char *copy = texts[next++ % 4];

	(void)record_view_text(view, name, &found);
	(void)snprintf(copy, sizeof(texts[0]), "%.*s", (int)found.size_bytes, found.bytes);
	return copy;
}

static void print_record(const struct record_view *view)
{
	int pid = (int)number(view, "pid") - FAKE_PID;

	switch (view->kind) {
	case RECORD_KIND_META:
		print("meta %s %s", text(view, "mode"),
		      number(view, "kernel_split") ? "split" : "whole");
		break;
	case RECORD_KIND_PROCESS:
		print("process %d %s %s%s", pid, text(view, "event"), text(view, "mode"),
		      record_view_find(view, "end_ns") ? ", ended" : "");
		break;
	case RECORD_KIND_CPU:
		print("cpu %d %s %" PRId64, pid, text(view, "request_id"), number(view, "cpu_ns"));
		break;
	case RECORD_KIND_BALANCE:
		print("balance %d %" PRId64 " = %" PRId64 " + %" PRId64 " + %" PRId64
		      ", own %" PRId64,
		      pid, number(view, "exec_ns"), number(view, "attributed_ns"),
		      number(view, "unattributed_ns"), number(view, "overflow_ns"),
		      number(view, "own_cpu_ns"));
		break;
	case RECORD_KIND_SELF:
		print("self %" PRId64, number(view, "own_cpu_ns"));
		break;
	default:
		print("kind %d", view->kind);
		break;
	}
}

/* A line a record. */
static const char *recorded(void)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;

	recorded_text[0] = '\0';
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0)
		print_record(&view);
	return recorded_text;
}

static void expect_said(const char *part)
{
	if (!strstr(fake.said, part))
		fail_msg("\"%s\" is not in:\n%s", part, fake.said);
}

static void expect_told(const char *part)
{
	if (!strstr(fake.told, part))
		fail_msg("\"%s\" is not in:\n%s", part, fake.told);
}

static void run_a_request(void)
{
	(void)publish(SOME, "r1");
	charge(0, 1, SOME, 600);
	charge(0, 1, CONTEXT_HASH_NONE, 300);
	fake.processes[0].books.epochs[fake.epoch & 1].overflow.user_ns += 100;
	fake.processes[0].books.epochs[fake.epoch & 1].exec_ns += 100;
}

static void run_much(void)
{
	for (uint32_t thread = 1; thread <= FAKE_ACCOUNTS_MAX; thread++)
		charge(0, thread, CONTEXT_HASH_NONE, 1);
}

static void run_it_again(void)
{
	charge(0, 1, SOME, 7);
}

static void each_window_is_its_accounts_its_cost_and_its_books_in_this_order(void **state)
{
	(void)state;
	fake.recording.duration_ns = 5 * NS_PER_S / 2;
	fake.cost_ns = 50;
	plan(NS_PER_S / 2, run_a_request);
	plan(3 * NS_PER_S / 2, run_it_again);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_string_equal(recorded(), "meta exact split\n"
					"process 0 found exact\n"
					"cpu 0 r1 600\n"
					"cpu 0  300\n"
					"self 50\n"
					"cpu 0 - 100\n"
					"balance 0 1000 = 600 + 300 + 100, own 50\n"
					"cpu 0 r1 7\n"
					"self 50\n"
					"balance 0 7 = 7 + 0 + 0, own 50\n"
					"self 50\n"
					"balance 0 0 = 0 + 0 + 0, own 50\n");
	assert_string_equal(fake.told, "way 0\nthreads\nprograms timed\nflush\nflush\n"
				       "flush, the last\n");
	expect_said("wrote 12 records of 0.000 s CPU to ");
	expect_said(", 60.3 % of it in a context\n");
}

/* First and last of each record's wall time and window. */
static void expect_windows(const uint64_t *ends_ns, const uint64_t *lengths_ns, size_t count)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	size_t windows = 0;

	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		if (view.kind == RECORD_KIND_META) {
			assert_int_equal(view.wall_ns, FAKE_WALL_NS);
			assert_int_equal(number(&view, "clock_offset_ns"),
					 FAKE_WALL_NS - FAKE_START_NS);
		}
		if (view.kind != RECORD_KIND_BALANCE)
			continue;
		assert_true(windows < count);
		assert_int_equal(view.wall_ns - FAKE_WALL_NS, ends_ns[windows]);
		assert_int_equal(number(&view, "window_ns"), lengths_ns[windows]);
		windows++;
	}
	assert_int_equal(windows, count);
}

static void stop_for_a_while(void)
{
	fake.now_ns += 7 * NS_PER_S / 2;
}

static void
after_a_pause_of_ours_there_is_one_window_and_the_next_end_where_they_would(void **state)
{
	const uint64_t ends_ns[] = { NS_PER_S, 5 * NS_PER_S, 6 * NS_PER_S, 13 * NS_PER_S / 2 };
	const uint64_t lengths_ns[] = { NS_PER_S, 4 * NS_PER_S, NS_PER_S, NS_PER_S / 2 };

	(void)state;
	fake.recording.duration_ns = 13 * NS_PER_S / 2;
	plan(3 * NS_PER_S / 2, stop_for_a_while);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_windows(ends_ns, lengths_ns, 4);
}

static void a_recording_shorter_than_its_interval_is_one_window(void **state)
{
	const uint64_t end_ns = NS_PER_S / 4;

	(void)state;
	fake.recording.duration_ns = end_ns;
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_windows(&end_ns, &end_ns, 1);
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

static void a_signal_ends_it_with_what_was_charged_up_to_then(void **state)
{
	const uint64_t end_ns = NS_PER_S / 2;

	(void)state;
	plan(NS_PER_S / 4, run_a_request);
	plan(end_ns, interrupt);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_windows(&end_ns, &end_ns, 1);
	assert_non_null(strstr(recorded(), "cpu 0 r1 600\n"));
}

static void one_that_is_interrupted_before_anything_ran_says_so(void **state)
{
	(void)state;
	plan(NS_PER_S / 2, interrupt);
	assert_int_equal(record(), EXIT_CODE_INTERRUPTED);
	(void)set_up(state);
	plan(NS_PER_S / 2, terminate);
	assert_int_equal(record(), EXIT_CODE_OK);
}

static void it_ends_with_its_targets(void **state)
{
	const uint64_t end_ns = NS_PER_S / 2;

	(void)state;
	plan(end_ns, end);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_windows(&end_ns, &end_ns, 1);
}

static char *const command[] = { "rails", NULL };

/* `-- rails`, which ends after so long, if it does, with that code. */
static void start_a_command(uint64_t after_ns, void (*end_it)(void), int code)
{
	fake.recording.command = command;
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

static void a_command_s_end_is_the_recordings_and_so_is_its_exit_code(void **state)
{
	const uint64_t end_ns = NS_PER_S / 2;

	(void)state;
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

static void a_command_is_told_to_end_and_recorded_until_it_has(void **state)
{
	const uint64_t end_ns = 3 * NS_PER_S / 4;

	(void)state;
	start_a_command(end_ns, end_the_command, 128 + SIGTERM);
	plan(NS_PER_S / 4, terminate);
	assert_int_equal(record(), 128 + SIGTERM);
	expect_told("signal 15\n");
	expect_said("recording until rails has ended; another signal ends it at once\n");
	expect_windows(&end_ns, &end_ns, 1);
	/* A terminal has told it already. */
	(void)set_up(state);
	start_a_command(end_ns, end_the_command, 7);
	plan(NS_PER_S / 4, type_an_interrupt);
	assert_int_equal(record(), 7);
	assert_null(strstr(fake.told, "signal"));
}

static void another_signal_ends_it_at_once_unless_it_is_the_same_ones_echo(void **state)
{
	const uint64_t end_ns = NS_PER_S / 4 + SIGNALS_ECHO_NS;

	(void)state;
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

static void where_one_was_to_publish_and_none_did_it_is_an_error(void **state)
{
	(void)state;
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
	fake.recording.output = pipe_path;
	plan(NS_PER_S / 4, run_much);
	return fd;
}

static void the_reader_of_a_pipe_is_waited_for_5_s_once_somebody_wants_it_to_end(void **state)
{
	_cleanup_fd_ int fd = -1;

	(void)state;
	fd = write_to_a_full_pipe();
	plan(NS_PER_S / 2, terminate);
	/* What timeout(1) sends twice is one signal. */
	plan(NS_PER_S / 2 + SIGNALS_ECHO_NS - 1, terminate);
	assert_int_equal(record(), EXIT_CODE_FAILURE);
	assert_int_equal(fake.now_ns - FAKE_START_NS, NS_PER_S / 2 + 5 * NS_PER_S);
	expect_said("waiting for the reader of ");
}

static void another_signal_waits_no_longer(void **state)
{
	_cleanup_fd_ int fd = -1;

	(void)state;
	fd = write_to_a_full_pipe();
	plan(NS_PER_S / 2, terminate);
	plan(NS_PER_S / 2 + SIGNALS_ECHO_NS, terminate);
	assert_int_equal(record(), EXIT_CODE_FAILURE);
	assert_int_equal(fake.now_ns - FAKE_START_NS, NS_PER_S / 2 + SIGNALS_ECHO_NS);
}

static void while_nobody_wants_it_to_end_a_reader_has_all_the_time(void **state)
{
	_cleanup_fd_ int fd = -1;

	(void)state;
	fd = write_to_a_full_pipe();
	fake.recording.duration_ns = NS_PER_S / 2;
	plan(3600 * NS_PER_S, terminate);
	assert_int_equal(record(), EXIT_CODE_FAILURE);
	assert_int_equal(fake.now_ns - FAKE_START_NS, 3605 * NS_PER_S);
}

static void fork_one(void)
{
	happen(EVENT_KIND_FORK, 1, 0);
}

static void run_in_both(void)
{
	run_a_request();
	charge(1, 2, SOME, 40);
}

static void execute(void)
{
	happen(EVENT_KIND_EXEC, 1, 0);
}

static void leave(void)
{
	happen(EVENT_KIND_EXIT, 1, 0);
	charge(1, 2, CONTEXT_HASH_NONE, 5);
}

static void a_child_is_there_from_its_fork_to_the_end_of_its_last_window(void **state)
{
	(void)state;
	fake.recording.duration_ns = 3 * NS_PER_S;
	plan(NS_PER_S / 4, fork_one);
	plan(NS_PER_S / 2, run_in_both);
	plan(5 * NS_PER_S / 4, execute);
	plan(3 * NS_PER_S / 2, leave);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_string_equal(recorded(), "meta exact split\n"
					"process 0 found exact\n"
					"process 1 fork exact\n"
					"cpu 0 r1 600\n"
					"cpu 0  300\n"
					"cpu 1 r1 40\n"
					"self 0\n"
					"cpu 0 - 100\n"
					"balance 0 1000 = 600 + 300 + 100, own 0\n"
					"balance 1 40 = 40 + 0 + 0, own 0\n"
					"process 1 exec exact\n"
					"cpu 1  5\n"
					"self 0\n"
					"balance 0 0 = 0 + 0 + 0, own 0\n"
					"balance 1 5 = 0 + 5 + 0, own 0\n"
					"process 1 exit -, ended\n"
					"self 0\n"
					"balance 0 0 = 0 + 0 + 0, own 0\n");
	expect_told("1 has the probes of 0\n1 is exact\n");
	expect_told("no 1\n");
	assert_null(strstr(fake.told, "expect"));
}

static void expect_more(void)
{
	happen(EVENT_KIND_ASK, 0, 0);
	happen(EVENT_KIND_OTEL_KEYS, 0, 0);
	happen(EVENT_KIND_LOAD, 0, 0);
	happen(_EVENT_KIND_MAX, 0, 0);
}

static void one_that_is_to_be_looked_at_has_not_ended(void **state)
{
	(void)state;
	fake.recording.duration_ns = 3 * NS_PER_S / 2;
	plan(NS_PER_S / 2, expect_more);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_string_equal(recorded(), "meta exact split\n"
					"process 0 found exact\n"
					"self 0\n"
					"balance 0 0 = 0 + 0 + 0, own 0\n"
					"self 0\n"
					"balance 0 0 = 0 + 0 + 0, own 0\n");
}

static void it_says_whom_it_observes_the_first_few_by_name(void **state)
{
	char line[512];

	(void)state;
	fake.recording.duration_ns = NS_PER_S / 2;
	assert_int_equal(record(), EXIT_CODE_OK);
	(void)snprintf(line, sizeof(line),
		       "observing process 4000000 (puma), writing to %s; Ctrl-C to stop\n", path);
	expect_said(line);
	(void)set_up(state);
	fake.recording.duration_ns = NS_PER_S / 2;
	for (size_t i = 0; i < FAKE_PROCESSES_MAX; i++)
		fake.processes[i].is_there = true;
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_said("observing 4 processes: 4000000 (puma), 4000001 (puma), 4000002 (puma) and 1 "
		    "more, writing to ");
	(void)set_up(state);
	fake.recording.duration_ns = NS_PER_S / 2;
	fake.processes[0].is_there = false;
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_said("observing no process yet, writing to ");
	expect_said("; the target has ended\n");
}

static void what_a_process_mixes_its_children_mix(void **state)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	size_t mixed = 0;

	(void)state;
	fake.mixes_threads = true;
	fake.recording.duration_ns = NS_PER_S / 2;
	plan(NS_PER_S / 8, fork_one);
	plan(NS_PER_S / 4, run_in_both);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		const struct record_field *flags = record_view_find(&view, "flags");

		mixed += flags && record_text_is(flags->items[0], "mixed_threads");
	}
	/* Two of the parent, and one of the child. */
	assert_int_equal(mixed, 3);
}

/* As its account was drained first. */
static void run_in_an_unknown_child(void)
{
	charge(1, 2, CONTEXT_HASH_NONE, 40);
}

static void a_fork_that_is_heard_of_late_is_said_once(void **state)
{
	char *fork;

	(void)state;
	fake.recording.duration_ns = 2 * NS_PER_S;
	plan(NS_PER_S / 2, run_in_an_unknown_child);
	plan(5 * NS_PER_S / 4, fork_one);
	plan(6 * NS_PER_S / 4, fork_one);
	assert_int_equal(record(), EXIT_CODE_OK);
	fork = strstr(recorded(), "process 1 fork exact\n");
	assert_non_null(fork);
	assert_null(strstr(fork + 1, "process 1 fork"));
	assert_non_null(strstr(recorded(), "balance 1 40 = 0 + 40 + 0, own 0\n"));
}

static void meet_a_stranger(void)
{
	happen(EVENT_KIND_STRANGER, 3, 0);
	happen(EVENT_KIND_EXEC, 3, 0);
}

static void a_stranger_is_looked_for_and_no_more(void **state)
{
	(void)state;
	fake.recording.duration_ns = NS_PER_S / 2;
	plan(NS_PER_S / 4, meet_a_stranger);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_told("expect 3\n");
	assert_null(strstr(recorded(), "process 3"));
}

static void run_out_of_memory(void)
{
	run_a_request();
	fake.failures[FAKE_FLUSH] = -ENOMEM;
}

static void a_window_without_memory_is_lost_and_the_next_one_has_its_residual(void **state)
{
	(void)state;
	fake.recording.duration_ns = 3 * NS_PER_S;
	plan(NS_PER_S / 2, run_out_of_memory);
	plan(5 * NS_PER_S / 2, run_it_again);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_said("no memory: the records of a window are lost\n");
	/* Its parity is that of the first. */
	assert_string_equal(recorded(), "meta exact split\n"
					"process 0 found exact\n"
					"self 0\n"
					"balance 0 0 = 0 + 0 + 0, own 0\n"
					"cpu 0 r1 7\n"
					"self 0\n"
					"cpu 0 - 100\n"
					"balance 0 1007 = 7 + 0 + 100, own 0\n");
}

static void have_no_memory(void)
{
	run_a_request();
	charge(0, 2, SOME + 1, 30);
	(void)publish(SOME + 1, "r2");
	happen(EVENT_KIND_EXIT, 1, 0);
	memory_fails_after(fake_successes);
}

/* Each call in turn finds none: a window is all there, or it is said that it is not,
 * also by the exit code where it could not be handed over. */
static void wherever_memory_runs_out_a_window_is_whole_or_said_to_be_lost(void **state)
{
	static char whole[FAKE_TEXT_BYTES];
	bool is_lost = true, is_missing = false;

	(void)state;
	for (fake_successes = 0; is_lost || is_missing; fake_successes++) {
		int code;

		(void)set_up(state);
		fake.recording.duration_ns = 7 * NS_PER_S / 2;
		fake.processes[1].is_there = true;
		plan(3 * NS_PER_S / 2, have_no_memory);
		plan(9 * NS_PER_S / 4, memory_never_fails);
		plan(5 * NS_PER_S / 2, run_it_again);
		code = record();
		is_missing = strstr(fake.said, "records are missing (no memory)");
		assert_int_equal(code, is_missing ? EXIT_CODE_FAILURE : EXIT_CODE_OK);
		is_lost = strstr(fake.said, "no memory: the records of a window are lost");
		(void)strcpy(whole, recorded());
		assert_non_null(strstr(whole, "meta exact split\nprocess 0 found exact\n"));
		if (is_lost || is_missing)
			assert_null(strstr(whole, "cpu 0 r2 30"));
		if (!is_missing)
			assert_non_null(strstr(whole, "process 1 exit -, ended\n"));
	}
	assert_true(fake_successes > 5);
	assert_string_equal(whole, "meta exact split\n"
				   "process 0 found exact\n"
				   "process 1 found exact\n"
				   "self 0\n"
				   "balance 0 0 = 0 + 0 + 0, own 0\n"
				   "balance 1 0 = 0 + 0 + 0, own 0\n"
				   "cpu 0 r1 600\n"
				   "cpu 0  300\n"
				   "cpu 0 r2 30\n"
				   "self 0\n"
				   "cpu 0 - 100\n"
				   "balance 0 1030 = 630 + 300 + 100, own 0\n"
				   "balance 1 0 = 0 + 0 + 0, own 0\n"
				   "process 1 exit -, ended\n"
				   "cpu 0 r1 7\n"
				   "self 0\n"
				   "balance 0 7 = 7 + 0 + 0, own 0\n"
				   "self 0\n"
				   "balance 0 0 = 0 + 0 + 0, own 0\n");
}

static void fail_to_flush(void)
{
	fake.failures[FAKE_FLUSH] = -EIO;
}

static void what_the_kernel_side_cannot_do_any_more_ends_it_with_what_was_written(void **state)
{
	(void)state;
	plan(3 * NS_PER_S / 2, fail_to_flush);
	plan(NS_PER_S / 2, run_a_request);
	assert_int_equal(record(), EXIT_CODE_FAILURE);
	assert_non_null(strstr(recorded(), "balance 0 1000 = 600 + 300 + 100, own 0\n"));
	assert_null(strstr(fake.told, "the last"));
	assert_null(strstr(fake.said, "wrote"));
}

static void what_cannot_be_begun_has_an_exit_code_of_its_own(void **state)
{
	static const struct {
		int what, error, code;
	} cases[] = {
		{ FAKE_OPEN, -ENOTSUP, EXIT_CODE_UNSUPPORTED },
		{ FAKE_ATTACH, -EPERM, EXIT_CODE_UNSUPPORTED },
		{ FAKE_CALIBRATE, -EIO, EXIT_CODE_UNSUPPORTED },
		{ FAKE_REGISTER, -EIO, EXIT_CODE_FAILURE },
		{ FAKE_OBSERVE, EXIT_CODE_NO_TARGET, EXIT_CODE_NO_TARGET },
		{ FAKE_RELEASE, EXIT_CODE_NOT_FOUND, EXIT_CODE_NOT_FOUND },
	};
	struct stat before, after;

	(void)state;
	fake.recording.duration_ns = NS_PER_S / 2;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(stat(path, &before), 0);
	(void)set_up(state);
	fake.recording.overwrites = false;
	assert_int_equal(record(), EXIT_CODE_FAILURE);
	assert_string_equal(fake.told, "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)set_up(state);
		fake.failures[cases[i].what] = cases[i].error;
		assert_int_equal(record(), cases[i].code);
		assert_int_equal(stat(path, &after), 0);
		/* Before all else is there, what was in the file stays. */
		if (cases[i].what != FAKE_RELEASE)
			assert_int_equal(after.st_size, before.st_size);
	}
}

static void the_kernel_side_is_opened_as_it_was_asked_for(void **state)
{
	(void)state;
	fake.recording.duration_ns = NS_PER_S / 2;
	fake.recording.keys.late = 1 << 3;
	fake.recording.keys.request = 2;
	fake.recording.follow_forks = true;
	fake.recording.contexts_max = 11;
	fake.recording.accounts_max = 12;
	fake.recording.ring_bytes = 13;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_false(fake.options.is_lean || fake.options.watches_otel);
	assert_true(fake.options.has_kernel_split && fake.options.follow_forks);
	assert_int_equal(fake.options.late_keys, 1 << 3);
	assert_int_equal(fake.options.request_key, 2);
	assert_int_equal(fake.options.strangers, STRANGERS_NONE);
	assert_int_equal(fake.options.contexts_max, 11);
	assert_int_equal(fake.options.accounts_max, 12);
	assert_int_equal(fake.options.ring_bytes, 13);
	fake.recording.searches = true;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(fake.options.strangers, STRANGERS_ANY);
	fake.recording.comm = "puma*";
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(fake.options.strangers, STRANGERS_BY_NAME);
}

static void without_uprobes_and_without_keys_of_ruby_it_is_lean(void **state)
{
	(void)state;
	fake.recording.duration_ns = NS_PER_S / 2;
	fake.recording.is_lean = true;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_true(fake.options.is_lean);
	assert_non_null(strstr(recorded(), "meta lean split\nprocess 0 found lean\n"));
	assert_null(strstr(fake.said, "uprobes"));
	(void)set_up(state);
	fake.recording.duration_ns = NS_PER_S / 2;
	fake.may_probe = false;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_true(fake.options.is_lean);
	expect_said("uprobes need CAP_SYS_ADMIN on this kernel (before Linux 6.6): recording as ");
	(void)set_up(state);
	fake.recording.duration_ns = NS_PER_S / 2;
	fake.recording.keys.ruby_count = 0;
	fake.recording.keys.otel_count = 1;
	fake.recording.has_kernel_split = false;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_true(fake.options.is_lean && fake.options.watches_otel);
	assert_non_null(strstr(recorded(), "meta lean whole\n"));
	assert_null(strstr(fake.told, "way"));
}

/* Of its budget of 1 %: what a window of 1 s costs. */
static void be_dear(void)
{
	fake.cost_ns = 20 * NS_PER_MS;
}

static void be_cheap(void)
{
	fake.cost_ns = NS_PER_MS;
}

static void be_busy(void)
{
	for (int i = 0; i < 2; i++)
		charge(0, 1, CONTEXT_HASH_NONE, 10)->totals.slices = 10;
	charge(1, 2, CONTEXT_HASH_NONE, 10)->totals.slices = 100;
	charge(2, 3, CONTEXT_HASH_NONE, 10)->totals.slices = 1;
}

static void keep_budget_for(uint64_t windows)
{
	fake.recording.budget_percent = 1;
	fake.recording.duration_ns = windows * NS_PER_S + NS_PER_S / 2;
	for (size_t i = 0; i < 3; i++)
		fake.processes[i].is_there = true;
	for (uint64_t window = 0; window < windows; window++)
		plan(window * NS_PER_S + NS_PER_S / 2, be_busy);
}

/* What is told of modes. */
static const char *told_modes(void)
{
	static char modes[FAKE_TEXT_BYTES];
	char *line = strtok(fake.told, "\n");

	modes[0] = '\0';
	for (; line; line = strtok(NULL, "\n"))
		if (strncmp(line, "flush", 5) != 0 && strcmp(line, "threads") != 0 &&
		    strcmp(line, "programs timed") != 0)
			(void)strcat(strcat(modes, line), "\n");
	return modes;
}

static void
over_its_budget_it_gives_up_the_dearest_one_after_the_other_and_then_the_split(void **state)
{
	(void)state;
	keep_budget_for(12);
	be_dear();
	assert_int_equal(record(), EXIT_CODE_OK);
	/* The third passes too few boundaries for its cost to matter. */
	assert_string_equal(told_modes(), "way 0\n"
					  "1 is lean\nno probes of 1\n"
					  "way 1\n"
					  "0 is lean\nno probes of 0\n"
					  "split 0\n");
	expect_said("own cost of 2.00 % of a CPU is over the budget of 1.00 %: lean from now on");
	expect_said("own cost of 2.00 % of a CPU is over the budget of 1.00 %: no user/kernel "
		    "split from now on\n");
	assert_non_null(strstr(recorded(), "process 1 mode lean\nmeta partly-lean split\n"));
	assert_non_null(strstr(recorded(), "process 0 mode lean\n"));
	assert_non_null(strstr(recorded(), "meta partly-lean whole\n"));
}

static void below_half_of_it_what_was_given_up_last_comes_back_first(void **state)
{
	(void)state;
	keep_budget_for(50);
	be_dear();
	plan(10 * NS_PER_S, be_cheap);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_string_equal(told_modes(), "way 0\n"
					  "1 is lean\nno probes of 1\n"
					  "way 1\n"
					  "0 is lean\nno probes of 0\n"
					  "split 0\n"
					  "split 1\n"
					  "way 1\n");
	expect_said(
		"own cost of 0.10 % of a CPU is below half of the budget of 1.00 %: user/kernel "
		"split from the next window on\n");
	expect_said("(puma): own cost of 0.10 % of a CPU is below half of the budget of 1.00 %: "
		    "exact from now on\n");
}

/* From what was told first on, up to the next that was told of it. */
static unsigned int flushes_between(const char **cursor, const char *first, const char *then)
{
	const char *at = strstr(*cursor, first), *end = at ? strstr(at + 1, then) : NULL;
	unsigned int count = 0;

	assert_non_null(end);
	*cursor = end;
	while ((at = strstr(at, "flush\n")) && at++ < end)
		count++;
	return count;
}

static void a_step_up_that_is_taken_back_waits_longer_next_time(void **state)
{
	const char *cursor = fake.told;

	(void)state;
	fake.recording.budget_percent = 1;
	fake.recording.duration_ns = 60 * NS_PER_S;
	be_dear();
	plan(3 * NS_PER_S + 1, be_cheap);
	plan(13 * NS_PER_S + 1, be_dear);
	plan(16 * NS_PER_S + 1, be_cheap);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(flushes_between(&cursor, "split 0", "split 1"), 10);
	assert_int_equal(flushes_between(&cursor, "split 1", "split 0"), 3);
	assert_int_equal(flushes_between(&cursor, "split 0", "split 1"), 20);
}

static void call_often(void)
{
	charge(0, 1, CONTEXT_HASH_NONE, 5000)->totals.syscalls = 10;
}

/* Of an account in each of six windows: 10 calls, over its budget from the fourth on. */
static void expect_split(const int64_t *errors_ns, int64_t lean_kernel_ns)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	size_t windows = 0;

	fake.recording.budget_percent = 1;
	fake.recording.duration_ns = 11 * NS_PER_S / 2;
	fake.short_way_ns = 100;
	fake.long_way_ns = 300;
	be_dear();
	for (uint64_t window = 0; window < 6; window++)
		plan(window * NS_PER_S + NS_PER_S / 4, call_often);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		if (view.kind != RECORD_KIND_CPU)
			continue;
		assert_true(windows < 6);
		assert_int_equal(number(&view, "split_error_ns"), errors_ns[windows]);
		assert_int_equal(number(&view, "kernel_ns"), windows < 3 ? 1000 : lean_kernel_ns);
		windows++;
	}
	assert_int_equal(windows, 6);
}

/* A call at the ends of each account, and where both ways were gone, their difference for each. */
static void in_the_window_in_which_a_mode_changes_the_bound_holds_both_ways(void **state)
{
	static const int64_t errors_ns[] = { 100, 100, 100, 10 * 200 + 300 + 200, 300, 300 };

	(void)state;
	expect_split(errors_ns, 3000);
}

static void refuse_to_calibrate(void)
{
	fake.failures[FAKE_CALIBRATE] = -EIO;
}

static void a_way_that_cannot_be_measured_is_taken_for_the_short_one_and_doubted(void **state)
{
	static const int64_t errors_ns[] = { 100, 100, 100, 1000 + 200, 1000 + 200, 1000 + 200 };

	(void)state;
	plan(NS_PER_S / 8, refuse_to_calibrate);
	expect_split(errors_ns, 1000);
}

static void a_split_that_cannot_be_had_again_is_tried_again(void **state)
{
	(void)state;
	keep_budget_for(40);
	be_dear();
	fake.failures[FAKE_SPLIT] = -EIO;
	plan(10 * NS_PER_S, be_cheap);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_non_null(strstr(told_modes(), "split 1\nsplit 1\n"));
	assert_null(strstr(fake.said, "split from the next window on"));
}

static void where_nothing_runs_the_split_goes_first(void **state)
{
	(void)state;
	fake.recording.budget_percent = 1;
	fake.recording.duration_ns = 7 * NS_PER_S / 2;
	be_dear();
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_string_equal(told_modes(), "way 0\nsplit 0\n");
	assert_non_null(strstr(recorded(), "meta exact whole\n"));
}

static void call(void)
{
	charge(0, 1, CONTEXT_HASH_NONE, 5000)->totals.syscalls = 10;
}

static void a_system_calls_way_is_measured_and_moved_to_kernel_time(void **state)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	bool has_cpu = false;

	(void)state;
	fake.recording.duration_ns = NS_PER_S / 2;
	fake.short_way_ns = 100.5;
	plan(NS_PER_S / 4, call);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		if (view.kind == RECORD_KIND_META)
			assert_int_equal(number(&view, "transition_ns"), 101);
		if (view.kind != RECORD_KIND_CPU)
			continue;
		has_cpu = true;
		assert_int_equal(number(&view, "user_ns"), 5000 - 1005);
		assert_int_equal(number(&view, "kernel_ns"), 1005);
	}
	assert_true(has_cpu);
}

static void bring_a_late_value(void)
{
	publish(SOME, "r1")->late_hash = 5;
}

static void a_snapshot_that_is_removed_as_its_late_value_comes_is_returned(void **state)
{
	(void)state;
	fake.recording.duration_ns = 7 * NS_PER_S / 2;
	plan(NS_PER_S / 2, run_a_request);
	plan(3 * NS_PER_S / 2, bring_a_late_value);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_told("context 16 returned\n");
	(void)set_up(state);
	fake.recording.duration_ns = 7 * NS_PER_S / 2;
	plan(NS_PER_S / 2, run_a_request);
	plan(NS_PER_S / 4, bring_a_late_value);
	plan(3 * NS_PER_S / 2, bring_a_late_value);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_true(strstr(fake.told, "returned"));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_window_is_its_accounts_its_cost_and_its_books_in_this_order),
		TEST(after_a_pause_of_ours_there_is_one_window_and_the_next_end_where_they_would),
		TEST(a_recording_shorter_than_its_interval_is_one_window),
		TEST(a_signal_ends_it_with_what_was_charged_up_to_then),
		TEST(one_that_is_interrupted_before_anything_ran_says_so),
		TEST(it_ends_with_its_targets),
		TEST(a_command_s_end_is_the_recordings_and_so_is_its_exit_code),
		TEST(a_command_is_told_to_end_and_recorded_until_it_has),
		TEST(another_signal_ends_it_at_once_unless_it_is_the_same_ones_echo),
		TEST(where_one_was_to_publish_and_none_did_it_is_an_error),
		TEST(the_reader_of_a_pipe_is_waited_for_5_s_once_somebody_wants_it_to_end),
		TEST(another_signal_waits_no_longer),
		TEST(while_nobody_wants_it_to_end_a_reader_has_all_the_time),
		TEST(a_child_is_there_from_its_fork_to_the_end_of_its_last_window),
		TEST(what_a_process_mixes_its_children_mix),
		TEST(a_fork_that_is_heard_of_late_is_said_once),
		TEST(a_stranger_is_looked_for_and_no_more),
		TEST(one_that_is_to_be_looked_at_has_not_ended),
		TEST(it_says_whom_it_observes_the_first_few_by_name),
		TEST(a_window_without_memory_is_lost_and_the_next_one_has_its_residual),
		TEST(wherever_memory_runs_out_a_window_is_whole_or_said_to_be_lost),
		TEST(what_the_kernel_side_cannot_do_any_more_ends_it_with_what_was_written),
		TEST(what_cannot_be_begun_has_an_exit_code_of_its_own),
		TEST(the_kernel_side_is_opened_as_it_was_asked_for),
		TEST(without_uprobes_and_without_keys_of_ruby_it_is_lean),
		TEST(over_its_budget_it_gives_up_the_dearest_one_after_the_other_and_then_the_split),
		TEST(below_half_of_it_what_was_given_up_last_comes_back_first),
		TEST(a_step_up_that_is_taken_back_waits_longer_next_time),
		TEST(in_the_window_in_which_a_mode_changes_the_bound_holds_both_ways),
		TEST(a_way_that_cannot_be_measured_is_taken_for_the_short_one_and_doubted),
		TEST(a_split_that_cannot_be_had_again_is_tried_again),
		TEST(where_nothing_runs_the_split_goes_first),
		TEST(a_system_calls_way_is_measured_and_moved_to_kernel_time),
		TEST(a_snapshot_that_is_removed_as_its_late_value_comes_is_returned),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
