/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recording gives up so that it costs no more than it may, and what the split of time in
 * user and kernel is worth meanwhile. */
#include "unit_test.h"

#include "recorder/observe/recorder.h"

#include "recorder/observe/fake_recorder.h"

UNIT_TEST_ALONE;

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

/* The other way round: the second one, which is given up last, stands behind the first. */
static void be_busy_in_the_first(void)
{
	charge(0, 1, CONTEXT_HASH_NONE, 10)->totals.slices = 100;
	for (int i = 0; i < 2; i++)
		charge(1, 2, CONTEXT_HASH_NONE, 10)->totals.slices = 10;
}

static void keep_budget_for(uint64_t windows, void (*be_so_busy)(void))
{
	fake.recording.budget_percent = 1;
	fake.recording.duration_ns = windows * NS_PER_S + NS_PER_S / 2;
	for (size_t i = 0; i < 3; i++)
		fake.processes[i].is_there = true;
	for (uint64_t window = 0; window < windows; window++)
		plan(window * NS_PER_S + NS_PER_S / 2, be_so_busy);
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

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(recorder_over_budget_makes_processes_lean_then_drops_split)
{
	keep_budget_for(12, be_busy);
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

FIXTURE_TEST(recorder_restores_in_reverse_order_below_half_of_budget)
{
	keep_budget_for(60, be_busy);
	be_dear();
	plan(10 * NS_PER_S, be_cheap);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_string_equal(told_modes(), "way 0\n"
					  "1 is lean\nno probes of 1\n"
					  "way 1\n"
					  "0 is lean\nno probes of 0\n"
					  "split 0\n"
					  "split 1\n"
					  "way 1\n"
					  "no way 1\n");
	expect_said(
		"own cost of 0.10 % of a CPU is below half of the budget of 1.00 %: user/kernel "
		"split from the next window on\n");
	expect_said("(puma): own cost of 0.10 % of a CPU is below half of the budget of 1.00 %: "
		    "exact from now on\n");
}

FIXTURE_TEST(recorder_restores_last_degraded_process_first)
{
	char *exact;

	keep_budget_for(60, be_busy_in_the_first);
	be_dear();
	plan(10 * NS_PER_S, be_cheap);
	assert_int_equal(record(), EXIT_CODE_OK);
	(void)recorded();
	exact = strstr(recorded_text, "process 1 mode exact\n");
	assert_non_null(exact);
	assert_non_null(strstr(exact, "process 0 mode exact\n"));
	*exact = '\0';
	assert_null(strstr(recorded_text, "process 0 mode exact\n"));
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

FIXTURE_TEST(recorder_doubles_wait_after_step_up_is_reverted)
{
	const char *cursor = fake.told;

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
FIXTURE_TEST(recorder_error_covers_both_ways_in_window_of_mode_change)
{
	static const int64_t errors_ns[] = { 100, 100, 100, 10 * 200 + 300 + 200, 300, 300 };

	expect_split(errors_ns, 3000);
}

static void refuse_to_calibrate(void)
{
	fake.failures[FAKE_CALIBRATE] = -EIO;
}

FIXTURE_TEST(recorder_doubts_long_way_that_cannot_be_measured)
{
	static const int64_t errors_ns[] = { 100, 100, 100, 1000 + 200, 1000 + 200, 1000 + 200 };

	plan(NS_PER_S / 8, refuse_to_calibrate);
	expect_split(errors_ns, 1000);
}

FIXTURE_TEST(recorder_retries_split_that_failed_to_restart)
{
	keep_budget_for(40, be_busy);
	be_dear();
	fake.failures[FAKE_SPLIT] = -EIO;
	plan(10 * NS_PER_S, be_cheap);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_non_null(strstr(told_modes(), "split 1\nsplit 1\n"));
	assert_null(strstr(fake.said, "split from the next window on"));
}

/* And then there is nothing more to give up. */
FIXTURE_TEST(recorder_over_budget_drops_split_first_if_nothing_runs)
{
	fake.recording.budget_percent = 1;
	fake.recording.duration_ns = 31 * NS_PER_S / 2;
	be_dear();
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_string_equal(told_modes(), "way 0\nsplit 0\n");
	assert_non_null(strstr(recorded(), "meta exact whole\n"));
}

static void call(void)
{
	charge(0, 1, CONTEXT_HASH_NONE, 5000)->totals.syscalls = 10;
}

FIXTURE_TEST(recorder_moves_syscall_way_from_user_to_kernel_time)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	bool has_cpu = false;

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

TEST_GROUP(make_file, remove_file)
