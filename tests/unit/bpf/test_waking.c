/* SPDX-License-Identifier: GPL-2.0-only */
/* Who ended a thread's sleep: bpf/timeline.bpf.h. */
#include "bpf/two_tasks.h"

#include "unit_test.h"

UNIT_TEST_ALONE;

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

#define WAKING_TEST(test) TEST_WITH(test, set_up, NULL)

WAKING_TEST(waking_records_running_thread_as_waker)
{
	wake(&kernel.other);
	assert_true(sleeper->timeline.waker == current);
	/* Whoever does so last. */
	wake(&kernel.current);
	assert_true(kernel.states[0].timeline.waker == current);
}

WAKING_TEST(waking_ignores_unobserved_thread)
{
	kernel.has_state[1] = false;
	wake(&kernel.other);
	assert_int_equal(sleeper->timeline.waker, 42);
}

WAKING_TEST(waking_by_idle_cpu_records_no_waker)
{
	kernel.current.pid = 0;
	wake(&kernel.other);
	assert_int_equal(sleeper->timeline.waker, 0);
}

#ifndef __TARGET_ARCH_arm64
WAKING_TEST(waking_in_interrupt_records_no_waker)
{
	/* include/linux/preempt.h: softirqs, hardirqs, NMIs. */
	static const uint32_t counts[] = { 1 << 8, 1 << 16, 1 << 20 };

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
