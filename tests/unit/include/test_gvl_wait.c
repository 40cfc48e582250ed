/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/gvl_wait.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

static void what_was_counted_before_is_nobodys(void **state)
{
	(void)state;
	assert_int_equal(take(50 * MS, 50 * MS, 0, 0), 0);
	assert_int_equal(pending.gvl_ns, 0);
}

static void what_the_counters_grow_by_is_charged(void **state)
{
	(void)state;
	assert_int_equal(take(50 * MS, 40 * MS, 30 * MS, 2), 0);
	assert_int_equal(pending.gvl_ns, 30 * MS);
	assert_int_equal(pending.gvl_waits, 2);
	assert_int_equal(take(20 * MS, 10 * MS, 10 * MS, 1), 0);
	assert_int_equal(pending.gvl_ns, 40 * MS);
	assert_int_equal(pending.gvl_waits, 3);
}

static void no_more_than_the_time_off_the_cpu(void **state)
{
	(void)state;
	assert_int_equal(take(50 * MS, 40 * MS, 40 * MS + 300, 1), 0);
	assert_int_equal(pending.gvl_ns, 40 * MS);
	/* One that got it at once was on the CPU. */
	assert_int_equal(take(MS, 0, 300, 1), 0);
	assert_int_equal(pending.gvl_ns, 40 * MS);
	assert_int_equal(pending.gvl_waits, 2);
}

static void time_off_the_cpu_before_a_reading_without_a_wait_is_spent(void **state)
{
	(void)state;
	assert_int_equal(take(50 * MS, 40 * MS, 0, 0), 0);
	assert_int_equal(gvl_wait_claimable(&known, &pending), 0);
	assert_int_equal(take(50 * MS, 5 * MS, 45 * MS, 1), 0);
	assert_int_equal(pending.gvl_ns, 5 * MS);
}

static void a_wait_that_goes_on_keeps_what_was_off_the_cpu_since_it_began(void **state)
{
	(void)state;
	counters.ready_ns = NOW_NS + 20 * MS;
	assert_int_equal(take(50 * MS, 40 * MS, 0, 0), 0);
	assert_int_equal(gvl_wait_claimable(&known, &pending), 30 * MS);
	counters.ready_ns = 0;
	assert_int_equal(take(50 * MS, 45 * MS, 80 * MS, 1), 0);
	assert_int_equal(pending.gvl_ns, 75 * MS);
}

static void a_wait_over_the_end_of_a_window_is_charged_when_it_ends(void **state)
{
	uint64_t claimable_ns;

	(void)state;
	counters.ready_ns = NOW_NS;
	assert_int_equal(take(50 * MS, 50 * MS, 0, 0), 0);
	claimable_ns = gvl_wait_claimable(&known, &pending);
	memset(&pending, 0, sizeof(pending));
	gvl_wait_charged(&known, claimable_ns);
	counters.ready_ns = 0;
	assert_int_equal(take(10 * MS, 10 * MS, 60 * MS, 1), 0);
	assert_int_equal(pending.gvl_ns, 60 * MS);
}

static void what_another_context_was_off_the_cpu_is_not_claimed(void **state)
{
	(void)state;
	counters.ready_ns = NOW_NS;
	assert_int_equal(take(50 * MS, 50 * MS, 0, 0), 0);
	memset(&pending, 0, sizeof(pending));
	gvl_wait_charged(&known, 0);
	counters.ready_ns = 0;
	assert_int_equal(take(10 * MS, 10 * MS, 60 * MS, 1), 0);
	assert_int_equal(pending.gvl_ns, 10 * MS);
}

static void counters_that_go_back_are_told_of_and_begin_anew(void **state)
{
	(void)state;
	assert_int_equal(take(50 * MS, 40 * MS, (uint64_t)-MS, 0), 1);
	assert_int_equal(pending.gvl_ns, 0);
	assert_int_equal(take(50 * MS, 40 * MS, 30 * MS, (uint64_t)-2), 1);
	assert_int_equal(pending.gvl_ns, 30 * MS);
	assert_int_equal(pending.gvl_waits, 0);
	assert_int_equal(take(50 * MS, 40 * MS, 20 * MS, 1), 0);
	assert_int_equal(pending.gvl_ns, 50 * MS);
	assert_int_equal(pending.gvl_waits, 1);
}

static void growth_by_more_than_has_passed_is_told_of_and_bounded(void **state)
{
	(void)state;
	assert_int_equal(take(50 * MS, 40 * MS, YEAR_NS, 1), 1);
	assert_int_equal(pending.gvl_ns, 40 * MS);
	assert_int_equal(take(2 * MS, 2 * MS, 1, UINT64_MAX / 4), 1);
	assert_int_equal(pending.gvl_ns, 40 * MS + 1);
	assert_int_equal(pending.gvl_waits, 1 + (2 * MS + GVL_CLOCK_SLACK_NS) / GVL_WAIT_LEAST_NS);
}

static void the_slack_of_the_clocks_is_no_lie(void **state)
{
	(void)state;
	assert_int_equal(take(50 * MS, 40 * MS, 50 * MS + GVL_CLOCK_SLACK_NS, 1), 0);
	assert_int_equal(take(50 * MS, 40 * MS, 50 * MS + GVL_CLOCK_SLACK_NS + 1, 1), 1);
}

static void a_wait_that_says_to_begin_in_the_future_or_ages_ago_claims_no_more(void **state)
{
	(void)state;
	counters.ready_ns = UINT64_MAX;
	assert_int_equal(take(50 * MS, 40 * MS, 0, 0), 0);
	assert_int_equal(gvl_wait_claimable(&known, &pending), 0);
	counters.ready_ns = 1;
	assert_int_equal(take(50 * MS, 40 * MS, 0, 0), 0);
	assert_int_equal(gvl_wait_claimable(&known, &pending), 40 * MS);
}

static void counters_of_another_thread_are_where_it_begins(void **state)
{
	(void)state;
	counters.serial++;
	assert_int_equal(take(50 * MS, 40 * MS, 30 * MS, 3), 0);
	assert_int_equal(pending.gvl_ns, 0);
	assert_int_equal(pending.gvl_waits, 0);
	/* Nor is it a lie that they are less. */
	counters.serial++;
	assert_int_equal(take(50 * MS, 40 * MS, (uint64_t)-50 * MS, (uint64_t)-2), 0);
}

static void those_that_came_since_it_was_looked_for_began_with_0(void **state)
{
	(void)state;
	gvl_wait_none(&known, &pending, NOW_NS);
	counters.wait_ns = counters.waits = 0;
	assert_int_equal(take(50 * MS, 40 * MS, 30 * MS, 3), 0);
	assert_int_equal(pending.gvl_ns, 30 * MS);
	assert_int_equal(pending.gvl_waits, 3);
}

static void those_that_cannot_have_come_since_were_another_native_threads(void **state)
{
	(void)state;
	gvl_wait_none(&known, &pending, NOW_NS);
	assert_int_equal(take(50 * MS, 40 * MS, 30 * MS, 3), 0);
	assert_int_equal(pending.gvl_ns, 0);
	assert_int_equal(pending.gvl_waits, 0);
	assert_int_equal(take(50 * MS, 40 * MS, 30 * MS, 3), 0);
	assert_int_equal(pending.gvl_ns, 30 * MS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(what_was_counted_before_is_nobodys),
		TEST(what_the_counters_grow_by_is_charged),
		TEST(no_more_than_the_time_off_the_cpu),
		TEST(time_off_the_cpu_before_a_reading_without_a_wait_is_spent),
		TEST(a_wait_that_goes_on_keeps_what_was_off_the_cpu_since_it_began),
		TEST(a_wait_over_the_end_of_a_window_is_charged_when_it_ends),
		TEST(what_another_context_was_off_the_cpu_is_not_claimed),
		TEST(counters_that_go_back_are_told_of_and_begin_anew),
		TEST(growth_by_more_than_has_passed_is_told_of_and_bounded),
		TEST(the_slack_of_the_clocks_is_no_lie),
		TEST(a_wait_that_says_to_begin_in_the_future_or_ages_ago_claims_no_more),
		TEST(counters_of_another_thread_are_where_it_begins),
		TEST(those_that_came_since_it_was_looked_for_began_with_0),
		TEST(those_that_cannot_have_come_since_were_another_native_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
