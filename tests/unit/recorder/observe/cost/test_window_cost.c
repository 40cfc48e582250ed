/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "recorder/observe/cost/own_cost.h"

#include "recorder/observe/fake_kernel.h"

UNIT_TEST_ALONE;

static struct own_cost cost;
static struct self_program programs[SESSION_PROGRAMS_MAX];
static struct self_record record;
static uint64_t asked_cpu_ns;

static int set_up(void **state)
{
	(void)state;
	fake_reset();
	asked_cpu_ns = 0;
	fake.program_count = 2;
	fake.programs[0] = (struct session_program){ "on_switch", 1000, 70000, 0 };
	fake.programs[1] = (struct session_program){ "on_exit", 10, 900, 0 };
	return 0;
}

/* What the programs run, while they are measured, in the time up to then. */
static void run(uint64_t ns, uint64_t count, uint64_t run_ns)
{
	fake.now_ns += ns;
	fake.programs[0].run_count += count;
	fake.programs[0].run_ns += run_ns;
}

static void begin(bool measures_all)
{
	own_cost_begin(&cost, &fake.session, measures_all, fake.now_ns, fake.now_ns + NS_PER_S);
}

static void measure(uint64_t window_ns)
{
	record = (struct self_record){ 0 };
	own_cost_measure(&cost, fake.now_ns, window_ns, asked_cpu_ns, programs, &record);
}

/* Mapped, in memory or not. */
static uint64_t mapped_bytes(void)
{
	_cleanup_file_ FILE *file = fopen("/proc/self/statm", "re");
	uint64_t pages = 0;

	assert_true(file && fscanf(file, "%" SCNu64, &pages) == 1);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(window_cost_counts_own_cpu_since_last_window)
{
	fake.own_cpu_ns = 5000;
	fake.calibration_cpu_ns = 700;
	begin(true);
	fake.own_cpu_ns += 30;
	fake.calibration_cpu_ns += 4;
	run(1000, 1, 10);
	measure(1000);
	assert_int_equal(record.window_ns, 1000);
	assert_int_equal(record.own_cpu_ns, 34);
	assert_true(record.own_rss_bytes > 0 && record.own_rss_bytes < mapped_bytes());
	assert_int_equal(record.own_rss_bytes % (uint64_t)sysconf(_SC_PAGESIZE), 0);
	/* Of one CPU: ours, and the programs'. */
	assert_true(cost.percent == 100.0 * (34.0 / 1000 + 10.0 / 1000));
	own_cost_next_window(&cost, fake.now_ns, fake.now_ns + NS_PER_S);
	fake.own_cpu_ns += 8;
	run(2000, 1, 10);
	measure(2000);
	assert_int_equal(record.own_cpu_ns, 8);
	assert_true(cost.percent == 100.0 * (8.0 / 2000 + 10.0 / 2000));
	/* A window that took no time costs what the last one did. */
	measure(0);
	assert_true(cost.percent == 100.0 * (8.0 / 2000 + 10.0 / 2000));
}

FIXTURE_TEST(window_cost_counts_skipped_runs_of_window)
{
	begin(true);
	measure(1000);
	assert_int_equal(record.skipped_runs, 0);
	fake.programs[0].skipped_runs = 7;
	measure(1000);
	assert_int_equal(record.skipped_runs, 7);
	fake.programs[0].skipped_runs = 9;
	measure(1000);
	assert_int_equal(record.skipped_runs, 2);
}

/* A window of 1000 ns more, in which so much of our CPU is used, part of it for others. */
static void use(uint64_t own_ns, uint64_t asked_ns)
{
	own_cost_next_window(&cost, fake.now_ns, fake.now_ns + NS_PER_S);
	fake.own_cpu_ns += own_ns;
	asked_cpu_ns += asked_ns;
	run(1000, 1, 10);
	measure(1000);
}

/* CPU time that others cause is in the record, but not in the percentage that the budget bounds. */
FIXTURE_TEST(window_cost_excludes_requested_work_from_budget)
{
	begin(true);
	use(950, 900);
	assert_int_equal(record.own_cpu_ns, 950);
	assert_true(cost.percent == 100.0 * (50.0 / 1000 + 10.0 / 1000));
	use(30, 10);
	assert_int_equal(record.own_cpu_ns, 30);
	assert_true(cost.percent == 100.0 * (20.0 / 1000 + 10.0 / 1000));
	/* Between the two readings some was used. */
	use(5, 6);
	assert_true(cost.percent == 100.0 * 10.0 / 1000);
}

FIXTURE_TEST(window_cost_reports_exact_runs_of_always_timed_programs)
{
	begin(true);
	assert_string_equal(fake.told, "programs timed\n");
	assert_true(own_cost_due_ns(&cost) == UINT64_MAX);
	run(NS_PER_S, 500, 6000);
	fake.programs[1].run_count += 3;
	fake.programs[1].run_ns += 40;
	measure(NS_PER_S);
	assert_true(record.has_programs);
	assert_ptr_equal(record.programs, programs);
	assert_int_equal(record.programs_count, 2);
	assert_string_equal(programs[0].name, "on_switch");
	assert_int_equal(programs[0].run_count, 500);
	assert_int_equal(programs[0].run_ns, 6000);
	assert_string_equal(programs[1].name, "on_exit");
	assert_int_equal(programs[1].run_count, 3);
	assert_int_equal(programs[1].run_ns, 40);
	assert_int_equal(record.programs_measured_ns, NS_PER_S);
	assert_int_equal(record.programs_samples, 0);
	assert_null(record.programs_error);
	/* The next window has its own. */
	own_cost_next_window(&cost, fake.now_ns, fake.now_ns + NS_PER_S);
	run(NS_PER_S, 1, 2);
	measure(NS_PER_S);
	assert_int_equal(programs[0].run_count, 1);
	assert_int_equal(programs[0].run_ns, 2);
	assert_int_equal(programs[1].run_count, 0);
	assert_string_equal(fake.told, "programs timed\n");
}

FIXTURE_TEST(window_cost_reports_up_to_max_programs)
{
	fake.program_count = SESSION_PROGRAMS_MAX;
	for (uint64_t i = 0; i < SESSION_PROGRAMS_MAX; i++)
		fake.programs[i] = (struct session_program){ "on_exit", i, 10 * i, 0 };
	begin(true);
	for (uint64_t i = 0; i < SESSION_PROGRAMS_MAX; i++)
		fake.programs[i].run_count += 100 + i;
	fake.now_ns += NS_PER_S;
	measure(NS_PER_S);
	assert_int_equal(record.programs_count, SESSION_PROGRAMS_MAX);
	for (uint64_t i = 0; i < SESSION_PROGRAMS_MAX; i++)
		assert_int_equal(programs[i].run_count, 100 + i);
}

FIXTURE_TEST(window_cost_uses_kernel_stats_that_are_already_on)
{
	for (int measures_all = 0; measures_all < 2; measures_all++) {
		(void)set_up(state);
		fake.are_timed = true;
		begin(measures_all);
		assert_string_equal(fake.told, "");
		assert_true(own_cost_due_ns(&cost) == UINT64_MAX);
		run(NS_PER_S, 5, 60);
		measure(NS_PER_S);
		assert_true(record.has_programs);
		assert_int_equal(programs[0].run_ns, 60);
	}
}

FIXTURE_TEST(window_cost_extrapolates_sample_to_whole_window)
{
	begin(false);
	/* The first one at once. */
	assert_string_equal(fake.told, "programs timed\n");
	assert_int_equal(own_cost_due_ns(&cost), fake.now_ns + SAMPLING_SAMPLE_NS);
	run(SAMPLING_SAMPLE_NS - 1, 1, 100);
	own_cost_sample(&cost, fake.now_ns);
	assert_string_equal(fake.told, "programs timed\n");
	run(1, 4, 500);
	own_cost_sample(&cost, fake.now_ns);
	assert_string_equal(fake.told, "programs timed\nprograms not timed\n");
	assert_true(own_cost_due_ns(&cost) == UINT64_MAX);
	/* What others have measured meanwhile is not of it. */
	run(NS_PER_S - SAMPLING_SAMPLE_NS, 1000, 10000);
	own_cost_sample(&cost, fake.now_ns);
	measure(NS_PER_S);
	assert_true(record.has_programs);
	assert_int_equal(programs[0].run_count, 5 * 20);
	assert_int_equal(programs[0].run_ns, 600 * 20);
	assert_int_equal(record.programs_measured_ns, SAMPLING_SAMPLE_NS);
	assert_int_equal(record.programs_samples, 1);
	assert_true(cost.percent == 100.0 * (600 / (double)SAMPLING_SAMPLE_NS));
	/* It has one in the next window, too. */
	own_cost_next_window(&cost, fake.now_ns, fake.now_ns + NS_PER_S);
	assert_in_range(own_cost_due_ns(&cost), fake.now_ns,
			fake.now_ns + NS_PER_S - SAMPLING_SAMPLE_NS);
	fake.now_ns = own_cost_due_ns(&cost);
	own_cost_sample(&cost, fake.now_ns);
	run(SAMPLING_SAMPLE_NS, 2, 20);
	own_cost_sample(&cost, fake.now_ns);
	measure(NS_PER_S);
	assert_int_equal(programs[0].run_count, 2 * 20);
	assert_int_equal(record.programs_samples, 1);
}

FIXTURE_TEST(window_cost_ends_sample_with_its_window)
{
	begin(false);
	run(SAMPLING_SAMPLE_NS / 2, 5, 60);
	measure(SAMPLING_SAMPLE_NS / 2);
	assert_string_equal(fake.told, "programs timed\nprograms not timed\n");
	assert_int_equal(programs[0].run_ns, 60);
	assert_int_equal(record.programs_measured_ns, SAMPLING_SAMPLE_NS / 2);
	assert_int_equal(record.programs_samples, 1);
}

FIXTURE_TEST(window_cost_keeps_last_percent_if_no_program_ran)
{
	begin(true);
	run(1000, 1, 10);
	measure(1000);
	own_cost_next_window(&cost, fake.now_ns, fake.now_ns + NS_PER_S);
	fake.now_ns += 1000;
	measure(1000);
	assert_false(record.has_programs);
	assert_int_equal(record.programs_count, 0);
	assert_true(cost.percent == 100.0 * 10 / 1000);
}

static void expect_error(int error, const char *text)
{
	for (int measures_all = 0; measures_all < 2; measures_all++) {
		(void)set_up(NULL);
		fake.timing = error;
		begin(measures_all);
		run(1000, 1, 10);
		measure(1000);
		assert_false(record.has_programs);
		assert_string_equal(record.programs_error, text);
		assert_true(cost.percent == 0);
		/* It is not asked again. */
		assert_true(own_cost_due_ns(&cost) == UINT64_MAX);
		own_cost_next_window(&cost, fake.now_ns, fake.now_ns + NS_PER_S);
		run(1000, 1, 10);
		own_cost_sample(&cost, fake.now_ns);
		measure(1000);
		assert_false(record.has_programs);
		assert_string_equal(fake.told, "programs timed\n");
		if (measures_all)
			assert_non_null(strstr(fake.said, text));
	}
}

FIXTURE_TEST(window_cost_records_kernel_refusal_and_does_not_retry)
{
	expect_error(-EPERM, "that needs CAP_SYS_ADMIN");
	expect_error(-ENOTSUP, strerror(ENOTSUP));
}
