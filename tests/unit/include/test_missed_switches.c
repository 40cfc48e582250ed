/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/missed_switches.h>

#include <stdbool.h>
#include <string.h>

#include "unit_test.h"

static struct missed_switches missed;
static struct thread_clock the_clock;
static struct account_totals totals;

/* On the CPU since 1000, with 5000 run and 300 waited before. */
static int set_up(void **state)
{
	const struct kernel_figures figures = { 5000, 300, 0, 0 };

	(void)state;
	memset(&missed, 0, sizeof(missed));
	memset(&totals, 0, sizeof(totals));
	account_begin(&the_clock, &figures, 1000, 0, OFF_CPU_RUNNABLE, THREAD_MODE_USER);
	the_clock.last_cpu = 1;
	return 0;
}

static bool note(uint32_t is_out)
{
	struct missed_switch *one = missed_switches_next(&missed);

	if (!one)
		return false;
	one->is_out = is_out;
	missed_switches_note(&missed);
	return true;
}

static uint32_t settle(uint32_t count)
{
	uint32_t first, waiting = missed_switches_read(&missed, &first);

	missed_switches_settled(&missed, first + count);
	return waiting;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(missed_switches_are_noted_in_order_up_to_capacity)
{
	for (uint32_t round = 0; round < 3; round++) {
		assert_false(missed_switches_wait(&missed));
		for (uint32_t i = 0; i < MISSED_SWITCHES; i++)
			assert_true(note(i & 1));
		assert_false(note(0));
		for (uint32_t i = 0; i < MISSED_SWITCHES; i++) {
			assert_int_equal(missed_switches_at(&missed, missed.settled)->is_out,
					 i & 1);
			assert_int_equal(settle(1), MISSED_SWITCHES - i);
		}
	}
}

FIXTURE_TEST(missed_switches_free_slot_when_settled)
{
	for (uint32_t i = 0; i < MISSED_SWITCHES; i++)
		assert_true(note(1));
	assert_int_equal(settle(1), MISSED_SWITCHES);
	assert_true(note(1));
	assert_false(note(1));
	missed_switches_forget(&missed);
	assert_false(missed_switches_wait(&missed));
	assert_int_equal(settle(0), 0);
}

FIXTURE_TEST(missed_switches_last_one_tells_if_on_cpu)
{
	assert_false(missed_switches_end_on_cpu(&missed));
	for (uint32_t i = 0; i < MISSED_SWITCHES; i++) {
		assert_true(note(i & 1));
		assert_int_equal(missed_switches_end_on_cpu(&missed), !(i & 1));
	}
	missed_switches_forget(&missed);
	assert_true(note(0));
	assert_true(missed_switches_end_on_cpu(&missed));
	missed_switches_forget(&missed);
	assert_false(missed_switches_end_on_cpu(&missed));
}

FIXTURE_TEST(missed_switch_out_derives_switch_in_from_runtime)
{
	const struct missed_switch out = { .figures = { 5250, 700, 3, 4 },
					   .at_ns = 9000,
					   .is_out = 1,
					   .off_reason = OFF_CPU_UNINTERRUPTIBLE,
					   .cpu = 2 };

	the_clock.is_off_cpu = 1;
	the_clock.off_reason = OFF_CPU_SLEEPING;
	missed_switch_apply(&out, &the_clock, &totals);
	assert_int_equal(totals.user_ns, 250);
	assert_int_equal(totals.run_queue_ns, 400);
	assert_int_equal(totals.blocked_ns, 9000 - 1000 - 250 - 400);
	assert_int_equal(totals.uninterruptible_ns, 0);
	assert_int_equal(totals.switches_voluntary, 3);
	assert_int_equal(totals.switches_involuntary, 4);
	assert_int_equal(totals.migrations, 1);
	assert_int_equal(totals.slices, 1);
	assert_int_equal(totals.stolen_ns, 0);
	assert_int_equal(the_clock.off_reason, OFF_CPU_UNINTERRUPTIBLE);
	assert_true(the_clock.is_off_cpu);
	/* What was stolen from the CPU before is not known. */
	assert_int_equal(the_clock.stolen_mark_ns, UINT64_MAX);
}

FIXTURE_TEST(missed_switch_in_derives_switch_out_from_runtime)
{
	const struct missed_switch in = {
		.figures = { 5250, 300, 3, 4 }, .at_ns = 9000, .stolen_ns = 77, .cpu = 2
	};

	missed_switch_apply(&in, &the_clock, &totals);
	assert_int_equal(totals.user_ns, 250);
	assert_int_equal(totals.slices, 1);
	assert_int_equal(totals.migrations, 1);
	assert_int_equal(the_clock.gap_ns, 9000 - 1000 - 250);
	assert_int_equal(the_clock.stolen_mark_ns, 77);
	assert_false(the_clock.is_off_cpu);
}
