/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/gc_time.h>

#include <string.h>

#include "unit_test.h"

enum {
	MS = 1000 * 1000,
	SERIAL = 7
};

#define NOW_NS	(UINT64_C(5000) * MS)
#define YEAR_NS (UINT64_C(365) * 24 * 3600 * 1000 * MS)

static struct gc_time known;
static struct account_totals pending;
static struct gem_thread counters;
static uint64_t now_ns;

/* The thread had its counters from the start, which have 100 ms in 4 collections. */
static int set_up(void **state)
{
	(void)state;
	memset(&known, 0, sizeof(known));
	memset(&pending, 0, sizeof(pending));
	now_ns = NOW_NS;
	counters = (struct gem_thread){ .version = 1,
					.flags = GEM_THREAD_TIMES_GC,
					.serial = SERIAL,
					.gc_time = UINT64_C(100) * MS << 1,
					.gc_runs = 4 };
	assert_int_equal(gc_time_take(&known, &counters, &pending, NOW_NS, 0), 0);
	gc_time_claim(&known, &pending);
	assert_int_equal(pending.gc_ns, 0);
	assert_int_equal(pending.gc_runs, 0);
	return 0;
}

/* A boundary at which an interval ends that was open for so long, on the CPU. */
static int boundary(uint64_t open_ns)
{
	int is_wrong;

	now_ns += open_ns;
	is_wrong = gc_time_take(&known, &counters, &pending, now_ns, open_ns);
	pending.user_ns += open_ns;
	gc_time_claim(&known, &pending);
	return is_wrong;
}

static int take(uint64_t open_ns, uint64_t grown_ns, uint64_t runs)
{
	counters.gc_time += grown_ns << 1;
	counters.gc_runs += runs;
	return boundary(open_ns);
}

static void begin_step(uint64_t at_ns)
{
	counters.gc_time = (at_ns - (counters.gc_time >> 1)) << 1 | 1;
}

static void end_step(uint64_t at_ns)
{
	counters.gc_time = (at_ns - (counters.gc_time >> 1)) << 1;
}

static void be_off_cpu(uint64_t ns)
{
	now_ns += ns;
	pending.run_queue_ns += ns / 2;
	pending.blocked_ns += ns - ns / 2;
}

static void charge(void)
{
	gc_time_charged(&known, &pending);
	memset(&pending, 0, sizeof(pending));
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(gc_time_before_first_reading_is_not_charged)
{
	assert_int_equal(take(50 * MS, 0, 0), 0);
	assert_int_equal(pending.gc_ns, 0);
}

FIXTURE_TEST(gc_time_charges_growth_of_counters)
{
	assert_int_equal(take(50 * MS, 30 * MS, 2), 0);
	assert_int_equal(pending.gc_ns, 30 * MS);
	assert_int_equal(pending.gc_runs, 2);
	assert_int_equal(take(20 * MS, 20 * MS, 1), 0);
	assert_int_equal(pending.gc_ns, 50 * MS);
	assert_int_equal(pending.gc_runs, 3);
}

FIXTURE_TEST(gc_time_counts_ongoing_step_up_to_boundary)
{
	begin_step(now_ns + 10 * MS);
	assert_int_equal(boundary(30 * MS), 0);
	assert_int_equal(pending.gc_ns, 20 * MS);
	charge();
	assert_int_equal(boundary(5 * MS), 0);
	assert_int_equal(pending.gc_ns, 5 * MS);
	end_step(now_ns + 2 * MS);
	assert_int_equal(boundary(7 * MS), 0);
	assert_int_equal(pending.gc_ns, 7 * MS);
	assert_int_equal(counters.gc_time >> 1, 127 * MS);
}

FIXTURE_TEST(gc_time_excludes_off_cpu_time_inside_step)
{
	begin_step(now_ns + 10 * MS);
	assert_int_equal(boundary(30 * MS), 0);
	be_off_cpu(40 * MS);
	assert_int_equal(boundary(5 * MS), 0);
	assert_int_equal(pending.gc_ns, 25 * MS);
	be_off_cpu(1 * MS);
	charge();
	be_off_cpu(2 * MS);
	end_step(now_ns + 4 * MS);
	assert_int_equal(boundary(9 * MS), 0);
	assert_int_equal(pending.gc_ns, 4 * MS);
	/* Off the CPU between two steps. */
	be_off_cpu(20 * MS);
	begin_step(now_ns + 1 * MS);
	assert_int_equal(boundary(3 * MS), 0);
	assert_int_equal(pending.gc_ns, 6 * MS);
}

FIXTURE_TEST(gc_time_excludes_off_cpu_time_between_clock_and_store)
{
	uint64_t begun_ns = now_ns + 50 * MS;

	assert_int_equal(boundary(50 * MS), 0);
	be_off_cpu(40 * MS);
	begin_step(begun_ns);
	end_step(now_ns + 2 * MS);
	assert_int_equal(boundary(3 * MS), 0);
	assert_int_equal(pending.gc_ns, 3 * MS);
	assert_int_equal(take(10 * MS, 1 * MS, 1), 0);
	assert_int_equal(pending.gc_ns, 4 * MS);
}

FIXTURE_TEST(gc_time_is_charged_to_open_interval_up_to_its_length)
{
	pending.user_ns = 50 * MS;
	counters.gc_time += UINT64_C(30) * MS << 1;
	counters.gc_runs += 3;
	now_ns += 60 * MS;
	assert_int_equal(gc_time_take(&known, &counters, &pending, now_ns, 10 * MS), 0);
	assert_int_equal(pending.gc_ns, 20 * MS);
	assert_int_equal(pending.gc_runs, 3);
	charge();
	pending.kernel_ns = 10 * MS;
	gc_time_claim(&known, &pending);
	assert_int_equal(pending.gc_ns, 10 * MS);
	assert_int_equal(pending.gc_runs, 0);
	/* Whole ones belong to the larger part. */
	counters.gc_time += UINT64_C(20) * MS << 1;
	counters.gc_runs++;
	pending.user_ns = 10 * MS;
	assert_int_equal(gc_time_take(&known, &counters, &pending, now_ns, 10 * MS), 0);
	assert_int_equal(pending.gc_runs, 0);
	gc_time_claim(&known, &pending);
	assert_int_equal(pending.gc_runs, 1);
}

FIXTURE_TEST(gc_time_read_twice_at_boundary_is_charged_once)
{
	counters.gc_time += UINT64_C(3) * MS << 1;
	counters.gc_runs++;
	assert_int_equal(gc_time_take(&known, &counters, &pending, now_ns, 10 * MS), 0);
	assert_int_equal(boundary(10 * MS), 0);
	assert_int_equal(pending.gc_ns, 3 * MS);
	assert_int_equal(pending.gc_runs, 1);
}

FIXTURE_TEST(gc_time_never_exceeds_cpu_time)
{
	assert_int_equal(take(50 * MS, 50 * MS + 300, 1), 0);
	assert_int_equal(pending.gc_ns, 50 * MS);
	/* Less was run than the clock says. */
	assert_int_equal(account_take_out(&pending, 20 * MS), 20 * MS);
	assert_int_equal(pending.gc_ns, 30 * MS);
	pending.kernel_ns = 10 * MS;
	assert_int_equal(account_take_out(&pending, 5 * MS), 5 * MS);
	assert_int_equal(pending.gc_ns, 30 * MS);
	assert_int_equal(account_take_out(&pending, 10 * MS), 10 * MS);
	assert_int_equal(pending.gc_ns, 25 * MS);
	assert_int_equal(account_take_out(&pending, 40 * MS), 25 * MS);
	assert_int_equal(pending.gc_ns, 0);
	counters.gc_time += UINT64_C(5) * MS << 1;
	assert_int_equal(gc_time_take(&known, &counters, &pending, now_ns, 5 * MS), 0);
	pending.user_ns += 4 * MS;
	gc_time_claim(&known, &pending);
	assert_int_equal(pending.gc_ns, 4 * MS);
}

FIXTURE_TEST(gc_time_reports_and_limits_implausible_counters)
{
	assert_int_equal(take(50 * MS, YEAR_NS, 1), 1);
	assert_int_equal(pending.gc_ns, 50 * MS);
	assert_int_equal(take(50 * MS, 0, 0), 0);
	/* Back by years, and on from there. */
	assert_int_equal(take(1 * MS, (uint64_t)-YEAR_NS, 0), 1);
	assert_int_equal(pending.gc_ns, 50 * MS);
	assert_int_equal(take(4 * MS, 2 * MS, 0), 0);
	assert_int_equal(pending.gc_ns, 52 * MS);
	assert_int_equal(take(1 * MS, 0, (uint64_t)-3), 1);
	assert_int_equal(pending.gc_runs, 1);
	assert_int_equal(take(1 * MS, 0, UINT64_C(1) << 40), 1);
	assert_in_range(pending.gc_runs, 1, 1 + 56 * MS / GC_RUN_LEAST_NS + 1);
	/* It began in times to come. */
	begin_step(now_ns + YEAR_NS);
	(void)boundary(1 * MS);
	assert_in_range(pending.gc_ns, 52 * MS, pending.user_ns);
}

FIXTURE_TEST(gc_time_tolerates_difference_between_clocks)
{
	begin_step(now_ns + 1 * MS);
	assert_int_equal(boundary(10 * MS), 0);
	/* By its own reading it ended before ours. */
	end_step(now_ns - 100);
	assert_int_equal(boundary(0), 0);
	assert_int_equal(pending.gc_ns, 9 * MS);
}

FIXTURE_TEST(gc_time_counts_new_counters_from_zero)
{
	gc_time_none(&known);
	counters = (struct gem_thread){ .version = 1, .serial = 8, .gc_runs = 1 };
	counters.gc_time = UINT64_C(3) * MS << 1;
	assert_int_equal(boundary(10 * MS), 0);
	assert_int_equal(pending.gc_ns, 3 * MS);
	assert_int_equal(pending.gc_runs, 1);
	assert_int_equal(known.serial, 8);
	/* More than it has run: they are another native thread's, until now. */
	gc_time_none(&known);
	counters.gc_time = UINT64_C(50) * MS << 1;
	assert_int_equal(boundary(10 * MS), 0);
	assert_int_equal(pending.gc_ns, 3 * MS);
	gc_time_none(&known);
	counters.gc_time = 0;
	counters.gc_runs = UINT64_C(1) << 30;
	assert_int_equal(boundary(10 * MS), 0);
	assert_int_equal(pending.gc_runs, 1);
}

FIXTURE_TEST(gc_time_counts_other_threads_counters_from_current_value)
{
	counters.serial = 8;
	assert_int_equal(take(50 * MS, 20 * MS, 1), 0);
	assert_int_equal(pending.gc_ns, 0);
	assert_int_equal(take(50 * MS, 20 * MS, 1), 0);
	assert_int_equal(pending.gc_ns, 20 * MS);
	gc_time_forget(&known);
	assert_int_equal(take(50 * MS, 20 * MS, 1), 0);
	assert_int_equal(pending.gc_ns, 20 * MS);
	assert_int_equal(pending.gc_runs, 1);
}
