/* SPDX-License-Identifier: GPL-2.0-only */
/* Which stack a wait is charged under, and what is lost: bpf/wait_stack.bpf.h. That it is all of an
 * account's time off the CPU in any life is in test_machine.c. */
#include "bpf/two_tasks.h"

#include "unit_test.h"

#include "sched.bpf.h"

#define CHARGED_MAP  waits
#define CHARGED_KEY  struct sample_key
#define CHARGED_SUMS struct wait_sums
#include "bpf/charged_map.h"

UNIT_TEST_ALONE;

enum {
	FIRST = 100, /* a stack */
	SECOND = 200,
	TIP = 7, /* of the first: so much more */
	READ_NS = 100, /* since the last boundary (two_tasks.h) */
};

static int set_up(void **state)
{
	begin_charges(state);
	native_session.has_wait_stacks = 1;
	thread->confirmed_ns = NOW_NS;
	return 0;
}

static void change(struct task_struct *from, struct task_struct *to)
{
	unsigned long long arguments[] = { false, (uintptr_t)from, (uintptr_t)to };

	assert_int_equal(on_sched_switch(arguments), 0);
}

/* It falls asleep in that stack, once it has run for so long. */
static void fall_asleep(uint64_t stack, uint64_t after_ns)
{
	kernel.now_ns += after_ns;
	kernel.current.se.sum_exec_runtime += after_ns;
	kernel.current.nvcsw++;
	kernel.current.__state = 1; /* TASK_INTERRUPTIBLE */
	thread->waited.next_stack = stack;
	thread->waited.next_tip = stack + TIP;
	change(&kernel.current, &kernel.other);
}

/* It gets a CPU again: woken up so long ago. */
static void wake_up(uint64_t after_ns, uint64_t run_queue_ns)
{
	kernel.now_ns += after_ns;
	kernel.current.__state = 0;
	kernel.current.sched_info.run_delay += run_queue_ns;
	change(&kernel.other, &kernel.current);
}

/* All that is pending goes to its account, as at the end of a window. */
static void charge(void)
{
	assert_true(boundary_begin(thread, &kernel.current, kernel.now_ns, BOUNDARY_SAMPLE));
	charge_so_far(thread, &kernel.current, kernel.now_ns);
	thread_release(thread);
}

static void expect_row(size_t window, uint64_t context_hash, uint64_t stack, uint64_t number,
		       uint64_t blocked_ns, uint64_t run_queue_ns)
{
	const struct sample_key key = {
		.account = { .context_hash = context_hash, .thread_serial = 6, .life = LIFE },
		.stack = stack,
		.tip = stack == STACK_NOT_SEEN ? TIP_NONE : stack + TIP,
	};
	const struct wait_sums *sums = find_row(window, &key);

	assert_non_null(sums);
	assert_int_equal(sums->waits, number);
	assert_int_equal(sums->blocked_ns, blocked_ns);
	assert_int_equal(sums->run_queue_ns, run_queue_ns);
}

static uint64_t lost(void)
{
	return kernel.processes[0].books.losses[COUNTER_SAMPLE_LOST];
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(wait_is_charged_to_stack_it_began_in)
{
	fall_asleep(FIRST, READ_NS);
	assert_int_equal(bench.counts[0], 0);
	wake_up(50, 20);
	fall_asleep(SECOND, 10);
	expect_row(0, CONTEXT_HASH_NONE, FIRST, 1, 30, 20);
	wake_up(1000, 0);
	charge();
	expect_row(0, CONTEXT_HASH_NONE, SECOND, 1, 1000, 0);
	assert_int_equal(bench.counts[0], 2);
	assert_int_equal(bench.account.totals.blocked_ns, 1030);
	assert_int_equal(bench.account.totals.run_queue_ns, 20);
	assert_int_equal(lost(), 0);
}

FIXTURE_TEST(waits_in_one_stack_are_summed)
{
	for (unsigned int i = 0; i < 3; i++) {
		fall_asleep(FIRST, 10);
		wake_up(50, 20);
	}
	charge();
	assert_int_equal(bench.counts[0], 1);
	expect_row(0, CONTEXT_HASH_NONE, FIRST, 3, 90, 60);
}

FIXTURE_TEST(wait_spanning_windows_has_time_in_each_and_counts_once)
{
	fall_asleep(FIRST, 10);
	for (uint32_t window = 0; window < 2; window++) {
		/* As the flush does of a thread that sleeps. */
		assert_true(thread_take(thread, &kernel.current, kernel.now_ns, 1));
		kernel.now_ns += 500;
		(void)account_collect(&thread->clock, &thread->pending, kernel.now_ns, false);
		charge_note_pending(thread, kernel.now_ns);
		charge_so_far(thread, &kernel.current, kernel.now_ns);
		thread->epoch = open_epoch = current_epoch = window + 1;
		thread_release(thread);
	}
	expect_row(0, CONTEXT_HASH_NONE, FIRST, 1, 500, 0);
	expect_row(1, CONTEXT_HASH_NONE, FIRST, 0, 500, 0);
}

FIXTURE_TEST(wait_without_account_is_charged_to_overflow)
{
	bench.opened.context_hash = CONTEXT_HASH_FIRST;
	fall_asleep(FIRST, 10);
	wake_up(50, 0);
	charge();
	expect_row(0, CONTEXT_HASH_OVERFLOW, FIRST, 1, 50, 0);
	assert_int_equal(kernel.processes[0].books.epochs[0].overflow.blocked_ns, 50);
}

FIXTURE_TEST(wait_without_map_capacity_is_counted_lost)
{
	bench.is_full = true;
	fall_asleep(FIRST, 10);
	wake_up(50, 0);
	charge();
	assert_int_equal(lost(), 1);
	bench.is_full = false;
	bench.has_no_epochs = true;
	fall_asleep(FIRST, 10);
	wake_up(50, 0);
	charge();
	assert_int_equal(lost(), 2);
	assert_int_equal(bench.counts[0], 0);
	assert_int_equal(bench.account.totals.blocked_ns, 100);
}

FIXTURE_TEST(wait_begun_while_busy_is_charged_to_its_own_stack)
{
	fall_asleep(FIRST, 10);
	wake_up(50, 0);
	thread->is_busy = 1;
	fall_asleep(SECOND, 10);
	wake_up(70, 0);
	thread->is_busy = 0;
	charge();
	assert_int_equal(bench.counts[0], 2);
	expect_row(0, CONTEXT_HASH_NONE, FIRST, 1, 50, 0);
	expect_row(0, CONTEXT_HASH_NONE, SECOND, 1, 70, 0);
}

FIXTURE_TEST(wait_with_unreported_start_has_unseen_stack)
{
	fall_asleep(FIRST, 10);
	wake_up(50, 0);
	charge();
	kernel.now_ns += 40;
	wake_up(30, 0);
	charge();
	assert_int_equal(thread->waited.places[0].stack, STACK_NOT_SEEN);
	expect_row(0, CONTEXT_HASH_NONE, FIRST, 1, 50, 0);
	expect_row(0, CONTEXT_HASH_NONE, STACK_NOT_SEEN, 1, 70, 0);
	assert_int_equal(bench.counts[0], 2);
}

/* Charged too early, they would be nobody's. */
FIXTURE_TEST(waits_of_unread_context_stay_pending_until_charge)
{
	thread->is_unread = 1;
	for (uint64_t i = 0; i < WAIT_PLACES; i++) {
		fall_asleep(FIRST + i, 10);
		wake_up(50 + i, 1);
	}
	assert_int_equal(bench.counts[0], 0);
	charge();
	assert_int_equal(bench.counts[0], WAIT_PLACES);
	for (uint64_t i = 0; i < WAIT_PLACES; i++)
		expect_row(0, CONTEXT_HASH_NONE, FIRST + i, 1, 49 + i, 1);
	/* The last one may go on: it is not counted again. */
	fall_asleep(FIRST, 10);
	wake_up(5, 0);
	charge();
	expect_row(0, CONTEXT_HASH_NONE, FIRST, 2, 49 + 5, 1);
	assert_int_equal(bench.counts[0], WAIT_PLACES);
}

FIXTURE_TEST(waits_beyond_capacity_are_charged_to_unseen_stack)
{
	thread->is_unread = 1;
	for (uint64_t i = 0; i < WAIT_PLACES + 2; i++) {
		fall_asleep(FIRST + i, 10);
		wake_up(50, 0);
	}
	charge();
	assert_int_equal(bench.counts[0], WAIT_PLACES);
	for (uint64_t i = 0; i < WAIT_PLACES - 1; i++)
		expect_row(0, CONTEXT_HASH_NONE, FIRST + i, 1, 50, 0);
	expect_row(0, CONTEXT_HASH_NONE, STACK_NOT_SEEN, 3, 150, 0);
}

/* A wait for a CPU alone is one, too; a change of context in its stretch does not end it. */
FIXTURE_TEST(wait_is_not_recounted_by_later_charge)
{
	fall_asleep(FIRST, 10);
	wake_up(50, 50);
	charge();
	expect_row(0, CONTEXT_HASH_NONE, FIRST, 1, 0, 50);
	kernel.now_ns += 20;
	charge();
	expect_row(0, CONTEXT_HASH_NONE, FIRST, 1, 0, 50);
	assert_int_equal(bench.counts[0], 1);
}

FIXTURE_TEST(waits_are_not_recorded_without_option)
{
	native_session.has_wait_stacks = 0;
	fall_asleep(FIRST, 10);
	wake_up(50, 0);
	assert_int_equal(bench.account.totals.slices, 0);
	charge();
	assert_int_equal(wait_places_charge(thread), 0);
	assert_int_equal(bench.counts[0], 0);
	assert_int_equal(bench.account.totals.blocked_ns, 50);
}
