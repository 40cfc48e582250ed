/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "recorder/observe/recorder.h"

#include "failing_memory.h"
#include "recorder/observe/fake_recorder.h"

UNIT_TEST_ALONE;

static size_t fake_successes;

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(recorder_writes_accounts_cost_and_balance_of_each_window)
{
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

static void run_programs(void)
{
	fake.programs[0].run_count += 5;
	fake.programs[0].run_ns += 70;
}

static void run_programs_again(void)
{
	fake.programs[0].run_count += 2;
	fake.programs[0].run_ns += 30;
}

/* "RUNS NS" of the first program in each window, -1 where none ran. */
static const char *recorded_programs(void)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;

	recorded_text[0] = '\0';
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0)
		if (view.kind == RECORD_KIND_SELF)
			print("%" PRId64 " %" PRId64, number(&view, "bpf_on_switch_runs"),
			      number(&view, "bpf_on_switch_ns"));
	return recorded_text;
}

FIXTURE_TEST(recorder_writes_own_program_cost_of_each_window)
{
	fake.recording.duration_ns = 5 * NS_PER_S / 2;
	fake.program_count = 1;
	fake.programs[0] = (struct session_program){ "on_switch", 1000, 20000, 0 };
	plan(NS_PER_S / 2, run_programs);
	plan(3 * NS_PER_S / 2, run_programs_again);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_string_equal(recorded_programs(), "5 70\n2 30\n-1 -1\n");
}

static void tell_slice(uint32_t flags, uint32_t charge, uint64_t start_ns, uint64_t ran_ns)
{
	fake.stints[fake.stint_count++] =
		(struct stint){ .thread_serial = 1,
				.life = life_of(FAKE_PID),
				.charge = charge,
				.epoch = (uint32_t)fake.epoch,
				.context_hash = SOME,
				.flags = flags,
				.start_ns = FAKE_START_NS + start_ns,
				.end_ns = FAKE_START_NS + start_ns + ran_ns,
				.user_ns = ran_ns };
}

static void run_in_slices(void)
{
	run_a_request();
	tell_slice(0, 0, 100, 400);
	tell_slice(STINT_IS_CHARGED, 0, 600, 200);
	/* Its charge is not told. */
	tell_slice(0, 1, 900, 100);
	tell_slice(STINT_IS_CHARGED, 2, 1000, 5);
	/* Of a process that nobody knows, nobody has a record. */
	tell_slice(STINT_IS_CHARGED, 3, 2000, 5);
	fake.stints[fake.stint_count - 1].life = life_of(FAKE_PID + 3);
}

FIXTURE_TEST(recorder_writes_slices_after_balance_of_their_window)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	int64_t lost = 0;

	fake.recording.duration_ns = 3 * NS_PER_S / 2;
	fake.recording.has_timeline = true;
	fake.recording.timeline_bytes = 4096;
	plan(NS_PER_S / 2, run_in_slices);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_true(fake.options.has_timeline);
	assert_int_equal(fake.options.stint_ring_bytes, 4096);
	assert_non_null(strstr(recorded(), "balance 0 1000 = 600 + 300 + 100, own 0\n"
					   "slice 0 worker r1 running 100-500\n"
					   "slice 0 worker r1 running 600-800\n"
					   "slice 0 worker r1 running 1000-1005\n"
					   "self 0\n"));
	/* Nobody is woken for them: looked for again and again, and at each window's end. */
	assert_in_range(fake.stint_readings, 10, 100);
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0)
		(void)record_view_add(&view, "slices_lost", &lost);
	assert_int_equal(lost, 1);
}

FIXTURE_TEST(recorder_reads_no_slices_without_timeline)
{
	fake.recording.duration_ns = 3 * NS_PER_S / 2;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(fake.stint_readings, 0);
	assert_false(fake.options.has_timeline);
}

static void stop_for_a_while(void)
{
	fake.now_ns += 7 * NS_PER_S / 2;
}

FIXTURE_TEST(recorder_writes_one_window_after_own_pause)
{
	const uint64_t ends_ns[] = { NS_PER_S, 5 * NS_PER_S, 6 * NS_PER_S, 13 * NS_PER_S / 2 };
	const uint64_t lengths_ns[] = { NS_PER_S, 4 * NS_PER_S, NS_PER_S, NS_PER_S / 2 };

	fake.recording.duration_ns = 13 * NS_PER_S / 2;
	plan(3 * NS_PER_S / 2, stop_for_a_while);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_windows(ends_ns, lengths_ns, 4);
}

static void set_back_a_little(void)
{
	fake.wall_behind_ns += 100 * NS_PER_US - 1;
}

static void set_back(void)
{
	fake.wall_behind_ns = 100 * NS_PER_US;
}

static void set_forward(void)
{
	fake.wall_behind_ns = 0;
}

/* Each reading takes its time, another one each time: the first, the second, the third is best. */
FIXTURE_TEST(recorder_follows_clock_change_by_best_of_three_readings)
{
	const uint64_t ends_ns[] = { NS_PER_S, 2 * NS_PER_S, 3 * NS_PER_S - 100 * NS_PER_US,
				     4 * NS_PER_S };
	const uint64_t lengths_ns[] = { NS_PER_S, NS_PER_S, NS_PER_S, NS_PER_S };
	static const uint64_t lags_ns[][3] = { { 0, 70, 90 }, { 90, 0, 70 }, { 90, 70, 0 } };

	for (size_t i = 0; i < 3; i++) {
		(void)set_up(state);
		memcpy(fake.wall_lags_ns, lags_ns[i], sizeof(lags_ns[i]));
		fake.recording.duration_ns = 4 * NS_PER_S;
		/* By less it is not set: it may be our two readings. */
		plan(3 * NS_PER_S / 2, set_back_a_little);
		plan(5 * NS_PER_S / 2, set_back);
		plan(7 * NS_PER_S / 2, set_forward);
		assert_int_equal(record(), EXIT_CODE_OK);
		expect_windows(ends_ns, lengths_ns, 4);
	}
}

FIXTURE_TEST(recorder_omits_clock_offset_if_clock_is_not_set)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;

	fake.recording.duration_ns = NS_PER_S / 2;
	fake.wall_behind_ns = FAKE_WALL_NS - 5;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(record_reader_open(path, &reader), 0);
	assert_int_equal(record_reader_next(reader, &view), 1);
	assert_int_equal(view.kind, RECORD_KIND_META);
	assert_int_equal(view.wall_ns, 5);
	assert_null(record_view_find(&view, "clock_offset_ns"));
}

FIXTURE_TEST(recorder_counts_records_without_output_file)
{
	fake.recording.duration_ns = NS_PER_S / 2;
	fake.recording.output.file = NULL;
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_said("made 4 records of 0.000 s CPU, 0.0 % of it in a context\n");
}

FIXTURE_TEST(recorder_publishes_metrics_with_each_window)
{
	char sums_path[sizeof(path) + 8], address[sizeof(path) + 16], sums[65536];
	FILE *file;

	(void)snprintf(sums_path, sizeof(sums_path), "%s.prom", path);
	(void)snprintf(address, sizeof(address), "file:%s", sums_path);
	fake.recording.output.metrics = address;
	fake.recording.duration_ns = 5 * NS_PER_S / 2;
	assert_int_equal(record(), EXIT_CODE_OK);
	file = fopen(sums_path, "re");
	assert_non_null(file);
	sums[fread(sums, 1, sizeof(sums) - 1, file)] = '\0';
	(void)fclose(file);
	assert_int_equal(unlink(sums_path), 0);
	assert_non_null(strstr(sums, "\ncorrelator_windows_total 3\n"));
}

static void watch(const char *expression_text)
{
	struct alert_expression expression;
	struct alert_error error;

	assert_int_equal(alert_expression_parse(expression_text, &expression, &error), 0);
	assert_int_equal(alert_set_add(fake.recording.output.alerts, &expression), 0);
}

/* Behind all of a window's records; at the end, open requests have ended. */
FIXTURE_TEST(recorder_writes_alerts_into_their_window)
{
	fake.recording.output.alerts = alert_set_new();
	assert_non_null(fake.recording.output.alerts);
	watch("exec > 500ns");
	watch("max(cpu) > 1ns");
	fake.recording.duration_ns = 5 * NS_PER_S / 2;
	plan(NS_PER_S / 2, run_a_request);
	plan(3 * NS_PER_S / 2, run_it_again);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_string_equal(recorded(), "meta exact split\n"
					"process 0 found exact\n"
					"cpu 0 r1 600\n"
					"cpu 0  300\n"
					"self 0\n"
					"cpu 0 - 100\n"
					"balance 0 1000 = 600 + 300 + 100, own 0\n"
					"alert exec > 500ns firing 1000\n"
					"cpu 0 r1 7\n"
					"self 0\n"
					"balance 0 7 = 7 + 0 + 0, own 0\n"
					"alert exec > 500ns resolved 7\n"
					"self 0\n"
					"balance 0 0 = 0 + 0 + 0, own 0\n"
					"alert max(cpu) > 1ns firing 607\n");
	expect_said("alert firing: exec > 500ns: is at 1 us\n");
	alert_set_free(fake.recording.output.alerts);
}

FIXTURE_TEST(recorder_runs_program_when_alert_fires)
{
	fake.recording.output.alerts = alert_set_new();
	assert_non_null(fake.recording.output.alerts);
	watch("exec > 500ns");
	fake.recording.on_alert = "/bin/false";
	fake.recording.duration_ns = 5 * NS_PER_S / 2;
	plan(NS_PER_S / 2, run_a_request);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_said("alert resolved: exec > 500ns: is at 0 ns\n");
	alert_set_free(fake.recording.output.alerts);
}

FIXTURE_TEST(recorder_writes_one_window_if_shorter_than_interval)
{
	const uint64_t end_ns = NS_PER_S / 4;

	fake.recording.duration_ns = end_ns;
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_windows(&end_ns, &end_ns, 1);
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

FIXTURE_TEST(recorder_observes_child_from_fork_to_its_last_window)
{
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

/* There was no room for the event. */
FIXTURE_TEST(recorder_writes_exec_and_exit_of_child_without_fork_event)
{
	for (int has_exec = 0; has_exec < 2; has_exec++) {
		(void)set_up(state);
		fake.recording.duration_ns = 3 * NS_PER_S;
		if (has_exec)
			plan(5 * NS_PER_S / 4, execute);
		plan(3 * NS_PER_S / 2, leave);
		assert_int_equal(record(), EXIT_CODE_OK);
		assert_string_equal(recorded(), has_exec ? "meta exact split\n"
							   "process 0 found exact\n"
							   "self 0\n"
							   "balance 0 0 = 0 + 0 + 0, own 0\n"
							   "process 1 exec exact\n"
							   "cpu 1  5\n"
							   "self 0\n"
							   "balance 0 0 = 0 + 0 + 0, own 0\n"
							   "balance 1 5 = 0 + 5 + 0, own 0\n"
							   "process 1 exit -, ended\n"
							   "self 0\n"
							   "balance 0 0 = 0 + 0 + 0, own 0\n"
							 : "meta exact split\n"
							   "process 0 found exact\n"
							   "self 0\n"
							   "balance 0 0 = 0 + 0 + 0, own 0\n"
							   "cpu 1  5\n"
							   "self 0\n"
							   "balance 0 0 = 0 + 0 + 0, own 0\n"
							   "balance 1 5 = 0 + 5 + 0, own 0\n"
							   "process 1 exit -, ended\n"
							   "self 0\n"
							   "balance 0 0 = 0 + 0 + 0, own 0\n");
		expect_told("\nno 1\n");
	}
}

/* Its end was told, but its last window is not over. */
static void fork_one_that_has_its_pid(void)
{
	fake.processes[2].pid = fake.processes[1].pid;
	happen(EVENT_KIND_FORK, 2, 0);
	charge(2, 3, CONTEXT_HASH_NONE, 70);
}

static void run_in_the_later_one(void)
{
	charge(2, 3, CONTEXT_HASH_NONE, 8);
}

/* "EVENT START" of each record of the process with that pid: the start tells them apart. */
static const char *recorded_starts(pid_t pid)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;

	recorded_text[0] = '\0';
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0)
		if (view.kind == RECORD_KIND_PROCESS && number(&view, "pid") == pid)
			print("%s %" PRId64, text(&view, "event"),
			      number(&view, "start_ns") - (int64_t)FAKE_WALL_NS);
	return recorded_text;
}

FIXTURE_TEST(recorder_treats_reused_pid_as_another_process)
{
	fake.recording.duration_ns = 2 * NS_PER_S;
	plan(NS_PER_S / 4, fork_one);
	plan(NS_PER_S / 2, leave);
	plan(3 * NS_PER_S / 4, fork_one_that_has_its_pid);
	plan(3 * NS_PER_S / 2, run_in_the_later_one);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_string_equal(recorded(), "meta exact split\n"
					"process 0 found exact\n"
					"process 1 fork exact\n"
					"process 1 fork exact\n"
					"cpu 1  5\n"
					"cpu 1  70\n"
					"self 0\n"
					"balance 0 0 = 0 + 0 + 0, own 0\n"
					"balance 1 5 = 0 + 5 + 0, own 0\n"
					"balance 1 70 = 0 + 70 + 0, own 0\n"
					"process 1 exit -, ended\n"
					"cpu 1  8\n"
					"self 0\n"
					"balance 0 0 = 0 + 0 + 0, own 0\n"
					"balance 1 8 = 0 + 8 + 0, own 0\n");
	assert_string_equal(recorded_starts(FAKE_PID + 1), "fork 250000000\n"
							   "fork 750000000\n"
							   "exit 250000000\n");
	expect_told("\nno 1\n");
	assert_null(strstr(fake.told, "no 2\n"));
}

static void expect_more(void)
{
	happen(EVENT_KIND_ASK, 0, 0);
	happen(EVENT_KIND_OTEL_KEYS, 0, 0);
	happen(EVENT_KIND_LOAD, 0, 0);
	happen(_EVENT_KIND_MAX, 0, 0);
}

FIXTURE_TEST(recorder_keeps_process_that_is_expected_to_be_looked_at)
{
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

FIXTURE_TEST(recorder_logs_first_observed_processes_by_name)
{
	char line[512];

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

FIXTURE_TEST(recorder_marks_mixed_threads_of_child_as_of_parent)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	size_t mixed = 0;

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

/* The parent that the records of a process say it has, by its number here; each the same. */
static int64_t recorded_parent(size_t process)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	int64_t pid, parent = 0, before = 0;

	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		if (view.kind != RECORD_KIND_PROCESS ||
		    !record_view_count(&view, RECORD_FIELD(common, pid), &pid) ||
		    pid != (int64_t)(FAKE_PID + process))
			continue;
		assert_true(record_view_count(&view, RECORD_FIELD(process, parent_pid), &parent));
		assert_true(!before || parent == before);
		before = parent;
	}
	return before - FAKE_PID;
}

FIXTURE_TEST(recorder_writes_late_fork_event_once)
{
	char *fork;

	fake.recording.duration_ns = 2 * NS_PER_S;
	plan(NS_PER_S / 2, run_in_an_unknown_child);
	plan(5 * NS_PER_S / 4, fork_one);
	plan(6 * NS_PER_S / 4, fork_one);
	assert_int_equal(record(), EXIT_CODE_OK);
	fork = strstr(recorded(), "process 1 fork exact\n");
	assert_non_null(fork);
	assert_null(strstr(fork + 1, "process 1 fork"));
	assert_int_equal(recorded_parent(1), 0);
	assert_non_null(strstr(recorded(), "balance 1 40 = 0 + 40 + 0, own 0\n"));
}

static void fork_one_of_nobody(void)
{
	happen(EVENT_KIND_FORK, 1, 3);
}

FIXTURE_TEST(recorder_writes_parent_pid_of_child_of_unknown_parent)
{
	fake.recording.duration_ns = NS_PER_S / 2;
	plan(NS_PER_S / 4, fork_one_of_nobody);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_non_null(strstr(recorded(), "process 1 fork exact\n"));
	assert_int_equal(recorded_parent(1), 3);
}

static void meet_a_stranger(void)
{
	happen(EVENT_KIND_STRANGER, 3, 0);
	happen(EVENT_KIND_LOAD, 3, 0);
	happen(EVENT_KIND_ASK, 3, 0);
	happen(EVENT_KIND_OTEL_KEYS, 3, 0);
}

FIXTURE_TEST(recorder_only_expects_stranger_and_writes_no_record)
{
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

FIXTURE_TEST(recorder_loses_window_without_memory_but_not_its_residual)
{
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
FIXTURE_TEST(recorder_writes_whole_window_or_reports_loss_without_memory)
{
	static char whole[FAKE_TEXT_BYTES];
	bool is_lost = true, is_missing = false;

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

FIXTURE_TEST(recorder_stops_on_session_failure_and_keeps_written_records)
{
	plan(3 * NS_PER_S / 2, fail_to_flush);
	plan(NS_PER_S / 2, run_a_request);
	assert_int_equal(record(), EXIT_CODE_FAILURE);
	assert_non_null(strstr(recorded(), "balance 0 1000 = 600 + 300 + 100, own 0\n"));
	assert_null(strstr(fake.told, "the last"));
	assert_null(strstr(fake.said, "wrote"));
}

FIXTURE_TEST(recorder_returns_exit_code_of_each_startup_failure)
{
	static const struct {
		int what, error, code;
	} cases[] = {
		{ FAKE_OPEN, -ENOTSUP, EXIT_CODE_UNSUPPORTED },
		{ FAKE_ATTACH, -EPERM, EXIT_CODE_UNSUPPORTED },
		{ FAKE_CALIBRATE, -EIO, EXIT_CODE_UNSUPPORTED },
		{ FAKE_CALIBRATE, -EINTR, EXIT_CODE_INTERRUPTED },
		{ FAKE_REGISTER, -EIO, EXIT_CODE_FAILURE },
		{ FAKE_OBSERVE, EXIT_CODE_NO_TARGET, EXIT_CODE_NO_TARGET },
		{ FAKE_RELEASE, EXIT_CODE_NOT_FOUND, EXIT_CODE_NOT_FOUND },
	};
	struct stat before, after;

	fake.recording.duration_ns = NS_PER_S / 2;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(stat(path, &before), 0);
	(void)set_up(state);
	fake.recording.output.overwrites = false;
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

/* Then signals come on what has its number. */
FIXTURE_TEST(recorder_runs_without_standard_input)
{
	int kept = dup(STDIN_FILENO);

	(void)close(STDIN_FILENO);
	fake.recording.duration_ns = NS_PER_S / 2;
	assert_int_equal(record(), EXIT_CODE_OK);
	if (kept >= 0) {
		assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
		(void)close(kept);
	}
}

FIXTURE_TEST(recorder_opens_session_with_requested_options)
{
	fake.recording.duration_ns = NS_PER_S / 2;
	fake.recording.targets.keys.late = 1 << 3;
	fake.recording.targets.keys.request = 2;
	fake.recording.targets.follow_forks = true;
	fake.recording.has_children = true;
	fake.recording.contexts_max = 11;
	fake.recording.accounts_max = 12;
	fake.recording.ring_bytes = 13;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_false(fake.options.is_lean || fake.options.watches_otel);
	assert_true(fake.options.has_kernel_split && fake.options.follow_forks);
	assert_true(fake.options.has_children);
	assert_int_equal(fake.options.late_keys, 1 << 3);
	assert_int_equal(fake.options.request_key, 2);
	assert_int_equal(fake.options.strangers, STRANGERS_NONE);
	assert_int_equal(fake.options.contexts_max, 11);
	assert_int_equal(fake.options.accounts_max, 12);
	assert_int_equal(fake.options.ring_bytes, 13);
	fake.recording.targets.searches = true;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(fake.options.strangers, STRANGERS_ANY);
	fake.recording.targets.comm = "puma*";
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(fake.options.strangers, STRANGERS_BY_NAME);
}

FIXTURE_TEST(recorder_is_lean_without_uprobes_or_ruby_keys)
{
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
	fake.recording.targets.keys.ruby_count = 0;
	fake.recording.targets.keys.otel_count = 1;
	fake.recording.has_kernel_split = false;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_true(fake.options.is_lean && fake.options.watches_otel);
	assert_non_null(strstr(recorded(), "meta lean whole\n"));
	assert_null(strstr(fake.told, "way"));
}

static void bring_a_late_value(void)
{
	publish(SOME, "r1")->late_hash = 5;
}

FIXTURE_TEST(recorder_returns_snapshot_removed_while_late_value_arrives)
{
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

TEST_GROUP(make_file, remove_file)
