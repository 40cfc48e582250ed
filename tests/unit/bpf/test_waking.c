/* SPDX-License-Identifier: GPL-2.0-only */
/* Who ended a thread's sleep: bpf/timeline.bpf.h. */
#include "bpf/two_tasks.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct thread_state *const sleeper = &kernel.states[1];
static const uint64_t current = (uint64_t)TGID << 32 | TID;
static uint32_t preempt_count; /* of this CPU, so far from its run queue */

/* The other task is observed and sleeps; somebody else woke it the last time. */
static int set_up(void **state)
{
	(void)begin_two_tasks(state);
	native_session.has_timeline = 1;
	native_session.preempt_count_offset = (char *)&preempt_count - (char *)&kernel.run_queue;
	preempt_count = 0;
	kernel.has_state[1] = true;
	sleeper->is_ready = 1;
	sleeper->timeline.waker = 42;
	return 0;
}

static void wake(struct task_struct *task)
{
	unsigned long long arguments[] = { (uintptr_t)task };

	assert_int_equal(on_waking(arguments), 0);
}

static void who_runs_when_it_is_woken_wakes_it(void **state)
{
	(void)state;
	wake(&kernel.other);
	assert_true(sleeper->timeline.waker == current);
	/* Whoever does so last. */
	wake(&kernel.current);
	assert_true(kernel.states[0].timeline.waker == current);
}

static void of_who_is_not_observed_nothing_is_noted(void **state)
{
	(void)state;
	kernel.has_state[1] = false;
	wake(&kernel.other);
	assert_int_equal(sleeper->timeline.waker, 42);
}

static void an_idle_cpu_is_nobody(void **state)
{
	(void)state;
	kernel.current.pid = 0;
	wake(&kernel.other);
	assert_int_equal(sleeper->timeline.waker, 0);
}

#ifndef __TARGET_ARCH_arm64
static void in_an_interrupt_who_runs_has_nothing_to_do_with_it(void **state)
{
	/* include/linux/preempt.h: softirqs, hardirqs, NMIs. */
	static const uint32_t counts[] = { 1 << 8, 1 << 16, 1 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		sleeper->timeline.waker = 42;
		preempt_count = counts[i];
		wake(&kernel.other);
		assert_int_equal(sleeper->timeline.waker, 0);
	}
	/* That it is only not to be preempted says nothing, */
	preempt_count = 255;
	wake(&kernel.other);
	assert_true(sleeper->timeline.waker == current);
	/* nor does a count whose place is not known, or that cannot be read. */
	preempt_count = 1 << 16;
	kernel.unreadable = &preempt_count;
	wake(&kernel.other);
	assert_true(sleeper->timeline.waker == current);
	kernel.unreadable = NULL;
	native_session.preempt_count_offset = 0;
	sleeper->timeline.waker = 42;
	wake(&kernel.other);
	assert_true(sleeper->timeline.waker == current);
}
#endif

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_runs_when_it_is_woken_wakes_it),
		TEST(of_who_is_not_observed_nothing_is_noted),
		TEST(an_idle_cpu_is_nobody),
#ifndef __TARGET_ARCH_arm64
		TEST(in_an_interrupt_who_runs_has_nothing_to_do_with_it),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
