/* SPDX-License-Identifier: GPL-2.0-only */
/* The task that ends a thread's sleep: bpf/waking.bpf.h. */
#include "bpf/forged_files.h"

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
	native_session.interrupt_bits = 0x00ff0000;
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

/* The sleeper has slept for this time, in a context. */
static void sleep_for(uint64_t ns)
{
	native_session.stall_least_ns = 5000;
	sleeper->stall.left_ns = kernel.now_ns - ns;
}

/* The sleeper is in epoll_pwait() for a set, whose only file is ready and has the same number. */
static void wait_for_set(void)
{
	begin_files();
	kernel.other.files = &files.files;
	files.file.private_data = &files.set;
	files.set.rdllist.next = &files.items[0].rdllink;
	files.items[0].ffd = (struct epoll_filefd){ &files.file, DESCRIPTOR };
	be_in_call(BLOCKED_CALL_epoll_pwait, DESCRIPTOR, 0);
}

static void be_in_context(uint64_t hash)
{
	struct thread_state *waker = &kernel.states[0];

	waker->knowledge = CONTEXT_KNOWN;
	waker->context_hash = hash;
	waker->confirmed_ns = kernel.now_ns;
}

WAKING_TEST(waking_notes_context_of_who_ends_a_long_wait)
{
	sleep_for(5000);
	be_in_context(4321);
	wake(&kernel.other);
	assert_true(sleeper->stall.waker == current);
	assert_string_equal(sleeper->stall.waker_comm, "puma worker");
	assert_int_equal(sleeper->stall.flags, STALL_WAS_WOKEN);
	assert_int_equal(kernel.states[0].clock.mark_ns, kernel.now_ns);
	assert_int_equal(kernel.states[0].is_busy, 0);
}

WAKING_TEST(waking_after_short_wait_reads_nothing)
{
	wait_for_set();
	sleep_for(4999);
	wake(&kernel.other);
	assert_int_equal(sleeper->stall.ready_file, 0);
	assert_int_equal(sleeper->stall.flags, STALL_WAS_WOKEN);
	assert_true(sleeper->stall.waker == current);
	assert_string_equal(sleeper->stall.waker_comm, "");
	assert_int_equal(kernel.states[0].clock.mark_ns, NOW_NS - 100);
	/* No wait is watched. */
	sleeper->stall = (struct stall_watch){ 0 };
	wake(&kernel.other);
	assert_int_equal(sleeper->stall.flags, 0);
}

WAKING_TEST(waking_by_task_that_is_not_visible_has_its_name)
{
	sleep_for(5000);
	observer_level = 1;
	observer_namespace = 1;
	wake(&kernel.other);
	assert_int_equal(sleeper->stall.flags, STALL_WAS_WOKEN);
	assert_int_equal(sleeper->stall.waker, 0);
	assert_string_equal(sleeper->stall.waker_comm, "puma worker");
}

WAKING_TEST(waking_in_open_change_has_no_context)
{
	sleep_for(5000);
	be_in_context(4321);
	kernel.states[0].is_change_open = 1;
	wake(&kernel.other);
	assert_int_equal(sleeper->stall.waker_hash, 0);
	assert_int_equal(kernel.states[0].knowledge, CONTEXT_KNOWN);
	assert_int_equal(kernel.states[0].is_busy, 0);
}

WAKING_TEST(waking_of_thread_that_runs_again_leaves_its_stall)
{
	sleep_for(5000);
	sleeper->stall.entered_ns = kernel.now_ns - 1;
	sleeper->stall.waker = 42;
	wake(&kernel.other);
	assert_int_equal(sleeper->stall.waker, 42);
}

WAKING_TEST(waking_by_thread_whose_books_are_held_has_no_context)
{
	sleep_for(5000);
	be_in_context(4321);
	kernel.states[0].is_busy = 1;
	wake(&kernel.other);
	assert_true(sleeper->stall.waker == current);
	assert_int_equal(sleeper->stall.waker_hash, 0);
}

WAKING_TEST(waking_by_idle_cpu_after_long_wait_is_by_interrupt)
{
	sleep_for(5000);
	kernel.current.pid = 0;
	wake(&kernel.other);
	assert_int_equal(sleeper->stall.flags, STALL_WAS_WOKEN | STALL_BY_INTERRUPT);
	assert_int_equal(sleeper->stall.waker, 0);
}

/* Also by an interrupt: a timer, or a packet. */
WAKING_TEST(waking_after_long_wait_notes_what_is_ready_in_the_epoll_set)
{
	wait_for_set();
	sleep_for(5000);
	kernel.current.pid = 0;
	wake(&kernel.other);
	assert_int_equal(sleeper->stall.ready_file, (uintptr_t)&files.file);
	assert_int_equal(sleeper->stall.ready_descriptor, DESCRIPTOR);
}

#ifndef __TARGET_ARCH_arm64
WAKING_TEST(waking_tells_hardware_interrupt_from_software_interrupt)
{
	sleep_for(5000);
	preempt_count = 1 << 8;
	wake(&kernel.other);
	assert_int_equal(sleeper->stall.flags,
			 STALL_WAS_WOKEN | STALL_BY_INTERRUPT | STALL_BY_SOFTIRQ);
	/* A hardware interrupt during a software interrupt. */
	preempt_count = 1 << 16 | 1 << 8;
	wake(&kernel.other);
	assert_int_equal(sleeper->stall.flags,
			 STALL_WAS_WOKEN | STALL_BY_INTERRUPT | STALL_BY_HARDIRQ);
}

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
	/* So it is where they are further up; below, interrupts are counted that are off. */
	native_session.interrupt_bits = 0x1f000000;
	preempt_count = 1 << 24;
	sleeper->timeline.waker = 42;
	wake(&kernel.other);
	assert_int_equal(sleeper->timeline.waker, 0);
	preempt_count = 1 << 16;
	wake(&kernel.other);
	assert_true(sleeper->timeline.waker == current);
	native_session.interrupt_bits = 0x00ff0000;
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
