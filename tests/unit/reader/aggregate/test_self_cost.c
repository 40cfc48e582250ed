/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "reader/aggregate/sample_totals.h"
#include "reader/aggregate/self_cost.h"

static void add_self(struct totals *totals, int64_t contexts, int64_t limit, int64_t rss_bytes)
{
	sample_add_record(totals,
			  "self pid=7 window_ns=100 own_cpu_ns=10 own_rss_bytes=%ld contexts=%ld "
			  "contexts_max=%ld bpf_on_switch_runs=3 bpf_on_switch_ns=600 "
			  "bpf_on_exit_ns=50",
			  rss_bytes, contexts, limit);
}

static int setup(void **state)
{
	static const char *const by[] = { "request_id" };
	static struct totals totals;

	*state = &totals;
	return totals_init(&totals, by, 1);
}

static int teardown(void **state)
{
	totals_deinit(*state);
	return 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(self_cost_sums_times_and_keeps_fullest_map)
{
	struct totals *totals = *state;
	const struct self_cost *cost = &totals->self_cost;

	add_self(totals, 10, 1000, 5000);
	add_self(totals, 5, 100, 9000);
	add_self(totals, 20, 1000, 7000);
	assert_int_equal(cost->record_count, 3);
	assert_int_equal(cost->cpu_ns, 30);
	assert_int_equal(cost->rss_bytes_max, 9000);
	assert_int_equal(cost->fills[SELF_COST_MAP_CONTEXTS].used, 5);
	assert_int_equal(cost->fills[SELF_COST_MAP_CONTEXTS].limit, 100);
	assert_int_equal(cost->fills[SELF_COST_MAP_ACCOUNTS].limit, 0);
}

FIXTURE_TEST(self_cost_sums_run_time_per_program_and_overall)
{
	struct totals *totals = *state;
	const struct self_cost *cost = &totals->self_cost;

	add_self(totals, 0, 0, 0);
	add_self(totals, 0, 0, 0);
	assert_true(cost->has_programs);
	assert_int_equal(cost->program_count, 2);
	assert_string_equal(cost->programs[0].name, "on_switch");
	assert_int_equal(cost->programs[0].run_count, 6);
	assert_int_equal(cost->programs[0].run_ns, 1200);
	assert_string_equal(cost->programs[1].name, "on_exit");
	assert_int_equal(cost->run_ns, 1300);
	assert_int_equal(cost->run_count, 6);
}

FIXTURE_TEST(self_cost_sums_programs_beyond_limit)
{
	struct totals *totals = *state;
	struct sample sample;

	sample_record(&sample, "self pid=7");
	for (int i = 0; i < SELF_COST_PROGRAMS_MAX + 5; i++)
		sample_fields(&sample, "bpf_p%d_ns=1", i);
	sample_fields(&sample, "bpf__ns=1000"); /* no name in it */
	assert_int_equal(sample_add(&sample, totals), 0);
	assert_int_equal(totals->self_cost.program_count, SELF_COST_PROGRAMS_MAX);
	assert_int_equal(totals->self_cost.run_ns, SELF_COST_PROGRAMS_MAX + 5);
}

FIXTURE_TEST(self_cost_ignores_invalid_program_fields)
{
	struct totals *totals = *state;
	const struct self_cost *cost = &totals->self_cost;

	sample_add_record(totals, "self pid=7 window_ns=100 bpf_text_ns=\"5\" bpf_debt_ns=-5 "
				  "bpf_other=5 bpX_other_ns=5");
	assert_false(cost->has_programs);
	assert_int_equal(cost->program_count, 0);
	assert_int_equal(cost->run_ns, 0);
	assert_int_equal(cost->windows_ns, 100);
	/* A name of one letter is one, and no time at all a figure. */
	sample_add_record(totals, "self pid=7 bpf_x_ns=0");
	assert_true(cost->has_programs);
	assert_int_equal(cost->program_count, 1);
	assert_string_equal(cost->programs[0].name, "x");
}

FIXTURE_TEST(self_cost_estimate_saturates_at_int64_max)
{
	struct self_cost cost = { .run_ns = INT64_MAX,
				  .run_count = 3,
				  .program_count = 1,
				  .windows_ns = 400,
				  .programs_windows_ns = 200 };

	cost.programs[0] = (struct self_cost_program){ .run_ns = 5, .run_count = INT64_MAX };
	self_cost_finish(&cost);
	assert_true(cost.run_ns == INT64_MAX);
	assert_int_equal(cost.run_count, 6);
	assert_int_equal(cost.programs[0].run_ns, 10);
	assert_true(cost.programs[0].run_count == INT64_MAX);
	/* Once. */
	self_cost_finish(&cost);
	assert_int_equal(cost.run_count, 6);
}

FIXTURE_TEST(self_cost_tracks_fill_per_map_and_ignores_zero_limit)
{
	static const char *const names[] = { "contexts", "accounts", "processes" };
	struct totals *totals = *state;

	for (int map = 0; map < _OWN_COST_MAP_MAX; map++) {
		const char *name = names[map];

		assert_string_equal(self_cost_map_name((enum self_cost_map)map), name);
		sample_add_record(totals, "self pid=7 %s=%d %s_max=10", name, map + 1, name);
		sample_add_record(totals, "self pid=7 %s=5 %s_max=0", name, name);
		sample_add_record(totals, "self pid=7 %s_max=1", name);
		/* As full as another one. */
		sample_add_record(totals, "self pid=7 %s=%d %s_max=100", name, 10 * (map + 1),
				  name);
	}
	for (int map = 0; map < _OWN_COST_MAP_MAX; map++) {
		assert_int_equal(totals->self_cost.fills[map].used, map + 1);
		assert_int_equal(totals->self_cost.fills[map].limit, 10);
	}
}

/* A window of 1,000 ns: what a program ran, if that is not 0, and what else is said of it. */
static void add_window(struct totals *totals, int64_t run_ns, int64_t measured_ns, int64_t samples,
		       const char *error)
{
	struct sample sample;

	sample_record(&sample, "self pid=7 window_ns=1000");
	if (run_ns)
		sample_fields(&sample,
			      "bpf_on_switch_runs=%ld bpf_on_switch_ns=%ld "
			      "programs_measured_ns=%ld",
			      2 * run_ns, run_ns, measured_ns);
	if (samples)
		sample_fields(&sample, "programs_samples=%ld", samples);
	if (error)
		sample_fields(&sample, "programs_error=\"%s\"", error);
	assert_int_equal(sample_add(&sample, totals), 0);
}

FIXTURE_TEST(self_cost_extrapolates_to_unmeasured_windows)
{
	struct totals *totals = *state;
	const struct self_cost *cost = &totals->self_cost;

	add_window(totals, 100, 50, 1, NULL);
	add_window(totals, 0, 0, 0, NULL);
	add_window(totals, 0, 0, 0, NULL);
	add_window(totals, 140, 60, 2, NULL);
	totals_finish(totals);
	assert_true(cost->has_programs);
	assert_int_equal(cost->run_ns, 480);
	assert_int_equal(cost->run_count, 960);
	assert_int_equal(cost->programs[0].run_ns, 480);
	assert_int_equal(cost->programs[0].run_count, 960);
	assert_int_equal(cost->programs_measured_ns, 110);
	assert_int_equal(cost->programs_samples, 3);
}

FIXTURE_TEST(self_cost_keeps_fully_measured_times_unscaled)
{
	struct totals *totals = *state;
	const struct self_cost *cost = &totals->self_cost;

	add_self(totals, 0, 0, 0);
	add_window(totals, 7, 1000, 0, NULL);
	totals_finish(totals);
	assert_int_equal(cost->run_ns, 657);
	assert_int_equal(cost->programs_measured_ns, 1100);
	assert_int_equal(cost->programs_samples, 0);
}

FIXTURE_TEST(self_cost_keeps_latest_measurement_error)
{
	struct totals *totals = *state;
	const struct self_cost *cost = &totals->self_cost;

	add_window(totals, 0, 0, 0, "that needs CAP_SYS_ADMIN");
	totals_finish(totals);
	assert_false(cost->has_programs);
	assert_string_equal(cost->programs_error, "that needs CAP_SYS_ADMIN");
	add_window(totals, 0, 0, 0, "das ist nicht m\xc3\xb6glich\x1b");
	assert_string_equal(cost->programs_error, "das ist nicht m\xc3\xb6glich\\x1b");
}

/* Of a window in which nothing could be measured nothing is estimated either. */
FIXTURE_TEST(self_cost_does_not_extrapolate_to_failed_windows)
{
	struct totals *totals = *state;

	add_window(totals, 100, 50, 1, NULL);
	add_window(totals, 0, 0, 0, "that needs CAP_SYS_ADMIN");
	totals_finish(totals);
	assert_int_equal(totals->self_cost.run_ns, 100);
	assert_int_equal(totals->self_cost.run_count, 200);
}
