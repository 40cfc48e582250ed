/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/stall.h>

#include <string.h>

#include "unit_test.h"

enum {
	MS = 1000 * 1000,
	CONTEXT = 4321,
};

#define NOW_NS	  (UINT64_C(5000) * MS)
#define SECOND_NS (UINT64_C(1000) * MS)

static struct stall_watch watch;
static struct account_totals pending;
static uint64_t now_ns;

static int set_up(void **state)
{
	(void)state;
	memset(&watch, 0xa5, sizeof(watch));
	pending = (struct account_totals){ .blocked_ns = 7, .run_queue_ns = 8 };
	stall_begin(&watch, &pending, NOW_NS, CONTEXT);
	return 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(stall_begins_without_what_was_pending_before)
{
	stall_add_pending(&watch, &pending);
	assert_int_equal(watch.blocked_ns, 0);
	assert_int_equal(watch.run_queue_ns, 0);
	assert_int_equal(watch.context_hash, CONTEXT);
	assert_int_equal(watch.left_ns, NOW_NS);
	assert_int_equal(watch.entered_ns, 0);
	assert_int_equal(watch.waker, 0);
	assert_int_equal(watch.waker_hash, 0);
	assert_int_equal(watch.flags, 0);
}

FIXTURE_TEST(stall_adds_up_growth_over_charges)
{
	pending.blocked_ns += 5 * MS;
	stall_charged(&watch, &pending);
	pending = (struct account_totals){ .blocked_ns = 3 * MS };
	stall_charged(&watch, &pending);
	pending = (struct account_totals){ .blocked_ns = 2 * MS, .run_queue_ns = MS };
	stall_add_pending(&watch, &pending);
	stall_add_pending(&watch, &pending);
	assert_int_equal(watch.blocked_ns, 10 * MS);
	assert_int_equal(watch.run_queue_ns, MS);
}

FIXTURE_TEST(stall_has_no_more_for_the_gvl_than_it_was_long)
{
	const uint32_t on_futex = off_cpu_blocked(OFF_CPU_SLEEPING, BLOCKED_ON_FUTEX);

	pending.blocked_ns += 6 * MS;
	pending.run_queue_ns += MS;
	stall_charged(&watch, &pending);
	assert_int_equal(stall_gvl_ns(&watch, on_futex), 0);
	assert_int_equal(stall_gvl_ns(&watch, on_futex | OFF_CPU_FOR_GVL), 7 * MS);
	watch.gvl_ns = 5 * MS;
	assert_int_equal(stall_gvl_ns(&watch, on_futex), 5 * MS);
	watch.gvl_ns = 8 * MS;
	assert_int_equal(stall_gvl_ns(&watch, on_futex), 7 * MS);
}

FIXTURE_TEST(stall_is_long_from_limit_on)
{
	assert_false(stall_is_long(&watch, NOW_NS + 5 * MS - 1, 5 * MS));
	assert_true(stall_is_long(&watch, NOW_NS + 5 * MS, 5 * MS));
	/* By a clock that is behind. */
	assert_false(stall_is_long(&watch, NOW_NS - 1, 5 * MS));
	watch.left_ns = 0;
	assert_false(stall_is_long(&watch, NOW_NS + 5 * MS, 5 * MS));
}

/* How many stalls are told from then on, of one every microsecond. */
static uint64_t tell_all(uint64_t *paid_ns, uint64_t from_ns, uint64_t for_ns)
{
	uint64_t told = 0;

	for (uint64_t at_ns = from_ns; at_ns < from_ns + for_ns; at_ns += 1000) {
		uint64_t next_ns = stall_budget_take(*paid_ns, at_ns);

		*paid_ns = next_ns ? next_ns : *paid_ns;
		told += next_ns > 0;
	}
	return told;
}

TEST(stall_budget_allows_a_seconds_worth_at_once_and_then_a_rate)
{
	uint64_t paid_ns = 0;

	assert_in_range(tell_all(&paid_ns, NOW_NS, 2 * MS), STALLS_PER_SECOND,
			STALLS_PER_SECOND + 2);
	assert_in_range(tell_all(&paid_ns, NOW_NS + 2 * MS, SECOND_NS), STALLS_PER_SECOND - 1,
			STALLS_PER_SECOND + 1);
	/* Saved up again, but no more. */
	assert_in_range(tell_all(&paid_ns, NOW_NS + 100 * SECOND_NS, MS), STALLS_PER_SECOND,
			STALLS_PER_SECOND + 1);
}

static struct hog_watch hog;

/* A fiber runs from then on; 0 = in no context. */
static void pass_to(uint32_t fiber, uint64_t after_ns)
{
	now_ns += after_ns;
	hog_begin(&hog, now_ns, fiber);
}

static int begin_hogs(void **state)
{
	(void)state;
	memset(&hog, 0, sizeof(hog));
	now_ns = NOW_NS;
	return 0;
}

#define HOG_TEST(test) TEST_WITH(test, begin_hogs, NULL)

HOG_TEST(hog_adds_up_what_is_charged_since_probe)
{
	const struct account_totals totals = {
		.user_ns = 3, .kernel_ns = 4, .blocked_ns = 5, .run_queue_ns = 6
	};

	pass_to(7, 0);
	hog_charged(&hog, &totals, CONTEXT);
	hog_charged(&hog, &totals, CONTEXT);
	assert_int_equal(hog.cpu_ns, 14);
	assert_int_equal(hog.blocked_ns, 10);
	assert_int_equal(hog.run_queue_ns, 12);
	assert_int_equal(hog.context_hash, CONTEXT);
	pass_to(8, MS);
	assert_int_equal(hog.cpu_ns, 0);
	assert_int_equal(hog.blocked_ns, 0);
	assert_int_equal(hog.run_queue_ns, 0);
	assert_int_equal(hog.context_hash, 0);
}

HOG_TEST(hog_is_where_it_waited_longest_or_ran)
{
	const struct account_totals waits = { .user_ns = 3, .blocked_ns = 2, .run_queue_ns = 1 };
	const struct account_totals runs = { .user_ns = 1 };
	uint32_t flags;

	pass_to(7, 0);
	assert_int_equal(hog_place(&hog, &flags).stack, 0);
	hog_note_wait(&hog, 2 * MS, 11, 12);
	hog_note_wait(&hog, 3 * MS, 21, 22);
	hog_note_wait(&hog, 3 * MS - 1, 31, 32);
	hog_note_sample(&hog, 41, 42, 0);
	hog_charged(&hog, &waits, CONTEXT);
	assert_int_equal(hog_place(&hog, &flags).stack, 21);
	assert_int_equal(hog_place(&hog, &flags).tip, 22);
	assert_int_equal(flags, 0);
	hog_charged(&hog, &runs, CONTEXT);
	assert_int_equal(hog_place(&hog, &flags).stack, 41);
	assert_int_equal(hog_place(&hog, &flags).tip, 42);
	assert_int_equal(flags, STALL_STACK_IS_SAMPLED);
	pass_to(8, MS);
	hog_charged(&hog, &runs, CONTEXT);
	assert_int_equal(hog_place(&hog, &flags).stack, 0);
	pass_to(9, MS);
	hog_charged(&hog, &waits, CONTEXT);
	hog_note_wait(&hog, 1, 51, 52);
	assert_int_equal(hog_place(&hog, &flags).stack, 51);
}

HOG_TEST(hog_chooses_each_sample_as_likely_and_at_last_the_later_ones)
{
	pass_to(7, 0);
	hog_note_sample(&hog, 1, 1, 5);
	assert_int_equal(hog.sampled.stack, 1);
	hog_note_sample(&hog, 2, 2, 5);
	assert_int_equal(hog.sampled.stack, 1);
	hog_note_sample(&hog, 3, 3, 6);
	assert_int_equal(hog.sampled.stack, 3);
	for (uint64_t i = 4; i < 100; i++)
		hog_note_sample(&hog, i, i, 1);
	assert_int_equal(hog.sampled.stack, 3);
	hog_note_sample(&hog, 100, 100, HOG_SAMPLES);
	assert_int_equal(hog.sampled.stack, 100);
}

HOG_TEST(hog_needs_fibers_that_take_turns)
{
	pass_to(7, 0);
	assert_false(hog_is_long(&hog, now_ns + 9 * MS, 5 * MS));
	/* One after the other, as on a native thread that is used again. */
	pass_to(0, MS);
	pass_to(8, MS);
	assert_false(hog_is_long(&hog, now_ns + 9 * MS, 5 * MS));
	pass_to(0, MS);
	pass_to(7, MS);
	assert_true(hog_is_long(&hog, now_ns + 5 * MS, 5 * MS));
	assert_false(hog_is_long(&hog, now_ns + 5 * MS - 1, 5 * MS));
	/* From now on each. */
	pass_to(9, MS);
	assert_true(hog_is_long(&hog, now_ns + 5 * MS, 5 * MS));
}

HOG_TEST(hog_is_not_told_without_context)
{
	pass_to(7, 0);
	pass_to(8, MS);
	pass_to(7, MS);
	pass_to(0, MS);
	assert_false(hog_is_long(&hog, now_ns + 9 * MS, 5 * MS));
}

HOG_TEST(hog_is_not_told_if_context_changes_without_probe)
{
	const struct account_totals totals = { .user_ns = 3 };

	pass_to(7, 0);
	pass_to(6, MS);
	hog_charged(&hog, &totals, CONTEXT);
	hog_charged(&hog, &totals, CONTEXT);
	assert_true(hog_is_long(&hog, now_ns + 9 * MS, 5 * MS));
	hog_charged(&hog, &totals, CONTEXT + 1);
	assert_false(hog_is_long(&hog, now_ns + 9 * MS, 5 * MS));
}
