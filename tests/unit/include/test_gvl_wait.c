/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/gvl_wait.h>

#include <string.h>

#include "unit_test.h"

enum {
	MS = 1000 * 1000,
	SERIAL = 7
};

#define NOW_NS	(UINT64_C(5000) * MS)
#define YEAR_NS (UINT64_C(365) * 24 * 3600 * 1000 * MS)

static struct gvl_wait known;
static struct account_totals pending;
static struct gem_thread counters;
static uint64_t now_ns;

/* The thread had its counters from the start, which have 100 ms in 4 waits. */
static int set_up(void **state)
{
	(void)state;
	memset(&known, 0, sizeof(known));
	memset(&pending, 0, sizeof(pending));
	now_ns = NOW_NS;
	counters = (struct gem_thread){ .version = 1,
					.flags = GEM_THREAD_COUNTS_GVL,
					.serial = SERIAL,
					.wait_ns = 100 * MS,
					.waits = 4 };
	assert_int_equal(gvl_wait_take(&known, &counters, &pending, NOW_NS), 0);
	assert_int_equal(pending.gvl_ns, 0);
	assert_int_equal(pending.gvl_waits, 0);
	return 0;
}

/* After so long at all, blocked and waiting for a CPU, counters that have grown. */
static int take(uint64_t passed_ns, uint64_t off_cpu_ns, uint64_t grown_ns, uint64_t grown)
{
	now_ns += passed_ns;
	pending.blocked_ns += off_cpu_ns / 2;
	pending.run_queue_ns += off_cpu_ns - off_cpu_ns / 2;
	counters.wait_ns += grown_ns;
	counters.waits += grown;
	return gvl_wait_take(&known, &counters, &pending, now_ns);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(gvl_wait_before_first_reading_is_not_charged)
{
	assert_int_equal(take(50 * MS, 50 * MS, 0, 0), 0);
	assert_int_equal(pending.gvl_ns, 0);
}

FIXTURE_TEST(gvl_wait_within_one_wait_is_what_is_open_and_what_has_ended)
{
	const uint64_t left_ns = NOW_NS + 10 * MS, entered_ns = left_ns + 50 * MS;

	/* It slept for 30 ms before it wanted the GVL; or it had waited before. */
	counters.ready_ns = left_ns + 30 * MS;
	assert_int_equal(gvl_wait_within(&known, &counters, left_ns, entered_ns), 20 * MS);
	counters.ready_ns = left_ns - MS;
	assert_int_equal(gvl_wait_within(&known, &counters, left_ns, entered_ns), 50 * MS);
	counters.ready_ns = entered_ns + MS;
	assert_int_equal(gvl_wait_within(&known, &counters, left_ns, entered_ns), 0);
	counters.ready_ns = 0;
	assert_int_equal(gvl_wait_within(&known, &counters, left_ns, entered_ns), 0);
	counters.wait_ns += 40 * MS;
	assert_int_equal(gvl_wait_within(&known, &counters, left_ns, entered_ns), 40 * MS);
	counters.serial++;
	assert_int_equal(gvl_wait_within(&known, &counters, left_ns, entered_ns), 0);
	known.serial = counters.serial = 0;
	assert_int_equal(gvl_wait_within(&known, &counters, left_ns, entered_ns), 0);
}

FIXTURE_TEST(gvl_wait_charges_growth_of_counters)
{
	assert_int_equal(take(50 * MS, 40 * MS, 30 * MS, 2), 0);
	assert_int_equal(pending.gvl_ns, 30 * MS);
	assert_int_equal(pending.gvl_waits, 2);
	assert_int_equal(take(20 * MS, 10 * MS, 10 * MS, 1), 0);
	assert_int_equal(pending.gvl_ns, 40 * MS);
	assert_int_equal(pending.gvl_waits, 3);
}

FIXTURE_TEST(gvl_wait_never_exceeds_off_cpu_time)
{
	assert_int_equal(take(50 * MS, 40 * MS, 40 * MS + 300, 1), 0);
	assert_int_equal(pending.gvl_ns, 40 * MS);
	/* One that got it at once was on the CPU. */
	assert_int_equal(take(MS, 0, 300, 1), 0);
	assert_int_equal(pending.gvl_ns, 40 * MS);
	assert_int_equal(pending.gvl_waits, 2);
}

FIXTURE_TEST(gvl_wait_reading_without_wait_discards_off_cpu_time)
{
	assert_int_equal(take(50 * MS, 40 * MS, 0, 0), 0);
	assert_int_equal(gvl_wait_claimable(&known, &pending), 0);
	assert_int_equal(take(50 * MS, 5 * MS, 45 * MS, 1), 0);
	assert_int_equal(pending.gvl_ns, 5 * MS);
}

FIXTURE_TEST(gvl_wait_in_progress_keeps_off_cpu_time_since_its_start)
{
	counters.ready_ns = NOW_NS + 20 * MS;
	assert_int_equal(take(50 * MS, 40 * MS, 0, 0), 0);
	assert_int_equal(gvl_wait_claimable(&known, &pending), 30 * MS);
	counters.ready_ns = 0;
	assert_int_equal(take(50 * MS, 45 * MS, 80 * MS, 1), 0);
	assert_int_equal(pending.gvl_ns, 75 * MS);
}

FIXTURE_TEST(gvl_wait_across_window_end_is_charged_when_it_ends)
{
	uint64_t claimable_ns;

	counters.ready_ns = NOW_NS;
	assert_int_equal(take(50 * MS, 50 * MS, 0, 0), 0);
	claimable_ns = gvl_wait_claimable(&known, &pending);
	memset(&pending, 0, sizeof(pending));
	gvl_wait_charged(&known, claimable_ns);
	counters.ready_ns = 0;
	assert_int_equal(take(10 * MS, 10 * MS, 60 * MS, 1), 0);
	assert_int_equal(pending.gvl_ns, 60 * MS);
}

FIXTURE_TEST(gvl_wait_does_not_claim_off_cpu_time_of_other_context)
{
	counters.ready_ns = NOW_NS;
	assert_int_equal(take(50 * MS, 50 * MS, 0, 0), 0);
	memset(&pending, 0, sizeof(pending));
	gvl_wait_charged(&known, 0);
	counters.ready_ns = 0;
	assert_int_equal(take(10 * MS, 10 * MS, 60 * MS, 1), 0);
	assert_int_equal(pending.gvl_ns, 10 * MS);
}

FIXTURE_TEST(gvl_wait_reports_counters_going_back_and_restarts)
{
	assert_int_equal(take(50 * MS, 40 * MS, (uint64_t)-MS, 0), 1);
	assert_int_equal(pending.gvl_ns, 0);
	assert_int_equal(take(50 * MS, 40 * MS, 30 * MS, (uint64_t)-2), 1);
	assert_int_equal(pending.gvl_ns, 30 * MS);
	assert_int_equal(pending.gvl_waits, 0);
	assert_int_equal(take(50 * MS, 40 * MS, 20 * MS, 1), 0);
	assert_int_equal(pending.gvl_ns, 50 * MS);
	assert_int_equal(pending.gvl_waits, 1);
}

FIXTURE_TEST(gvl_wait_reports_and_limits_growth_beyond_elapsed_time)
{
	assert_int_equal(take(50 * MS, 40 * MS, YEAR_NS, 1), 1);
	assert_int_equal(pending.gvl_ns, 40 * MS);
	assert_int_equal(take(2 * MS, 2 * MS, 1, UINT64_MAX / 4), 1);
	assert_int_equal(pending.gvl_ns, 40 * MS + 1);
	assert_int_equal(pending.gvl_waits, 1 + (2 * MS + GVL_CLOCK_SLACK_NS) / GVL_WAIT_LEAST_NS);
}

FIXTURE_TEST(gvl_wait_tolerates_clock_slack)
{
	assert_int_equal(take(50 * MS, 40 * MS, 50 * MS + GVL_CLOCK_SLACK_NS, 1), 0);
	assert_int_equal(take(50 * MS, 40 * MS, 50 * MS + GVL_CLOCK_SLACK_NS + 1, 1), 1);
}

FIXTURE_TEST(gvl_wait_with_implausible_start_claims_no_extra_time)
{
	counters.ready_ns = UINT64_MAX;
	assert_int_equal(take(50 * MS, 40 * MS, 0, 0), 0);
	assert_int_equal(gvl_wait_claimable(&known, &pending), 0);
	counters.ready_ns = 1;
	assert_int_equal(take(50 * MS, 40 * MS, 0, 0), 0);
	assert_int_equal(gvl_wait_claimable(&known, &pending), 40 * MS);
}

FIXTURE_TEST(gvl_wait_starts_at_counters_of_other_thread)
{
	counters.serial++;
	assert_int_equal(take(50 * MS, 40 * MS, 30 * MS, 3), 0);
	assert_int_equal(pending.gvl_ns, 0);
	assert_int_equal(pending.gvl_waits, 0);
	/* Nor is it a lie that they are less. */
	counters.serial++;
	assert_int_equal(take(50 * MS, 40 * MS, (uint64_t)-50 * MS, (uint64_t)-2), 0);
}

FIXTURE_TEST(gvl_wait_counts_new_counters_from_zero)
{
	gvl_wait_none(&known, &pending, NOW_NS);
	counters.wait_ns = counters.waits = 0;
	assert_int_equal(take(50 * MS, 40 * MS, 30 * MS, 3), 0);
	assert_int_equal(pending.gvl_ns, 30 * MS);
	assert_int_equal(pending.gvl_waits, 3);
}

FIXTURE_TEST(gvl_wait_ignores_old_values_of_reused_counters)
{
	gvl_wait_none(&known, &pending, NOW_NS);
	assert_int_equal(take(50 * MS, 40 * MS, 30 * MS, 3), 0);
	assert_int_equal(pending.gvl_ns, 0);
	assert_int_equal(pending.gvl_waits, 0);
	assert_int_equal(take(50 * MS, 40 * MS, 30 * MS, 3), 0);
	assert_int_equal(pending.gvl_ns, 30 * MS);
}
