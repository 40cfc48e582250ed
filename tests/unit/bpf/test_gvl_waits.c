/* SPDX-License-Identifier: GPL-2.0-only */
/* Which waits are charged as such for the GVL by their futex: bpf/blocked.bpf.h. */
#include "bpf/forged_files.h"
#include "bpf/two_tasks.h"

#include "unit_test.h"

#include <correlator/gvl_futex.h>

#include "sched.bpf.h"

UNIT_TEST_ALONE;

enum {
	MS = 1000 * 1000,
	NODE_WORDS = 5 + 6, /* up to the end of the condition variable */
};

#define THREAD_POINTER UINT64_C(0x7f0000001700)

static struct thread_state *const thread = &kernel.states[0];
static uint64_t around, list;

/* The thread's own part of rb_thread_t, and the list's head, which it is the only one in. */
static int set_up(void **state)
{
	(void)begin_two_tasks(state);
	sees_syscalls = 0;
	thread->config.flags |= PROCESS_SHOWS_GVL;
	kernel.current.thread.fsbase = THREAD_POINTER;
	around = forged_take(&memory, NODE_WORDS * sizeof(uint64_t));
	list = forged_take(&memory, 2 * sizeof(uint64_t));
	forged_write_u64(&memory, around, THREAD_POINTER);
	forged_write_u64(&memory, list + 8, around + 24);
	be_in_call(BLOCKED_CALL_futex, around + 24 + GVL_FUTEX_BYTES, 0);
	return 0;
}

static void be_in_list(uint64_t next)
{
	forged_write_u64(&memory, around + 24, next);
}

static void change(struct task_struct *from, struct task_struct *to)
{
	unsigned long long arguments[] = { false, (uintptr_t)from, (uintptr_t)to };

	assert_int_equal(on_sched_switch(arguments), 0);
}

/* A wait of 7 ms: 5 ms asleep, 2 in the run queue. */
static void wait(void)
{
	memset(&thread->pending, 0, sizeof(thread->pending));
	kernel.current.__state = 1; /* TASK_INTERRUPTIBLE */
	change(&kernel.current, &kernel.other);
	kernel.now_ns += 7 * MS;
	kernel.current.__state = 0;
	change(&kernel.other, &kernel.current);
	kernel.current.sched_info.run_delay += 2 * MS;
	assert_true(boundary_begin(thread, &kernel.current, kernel.now_ns, BOUNDARY_RETURN));
	thread_release(thread);
	assert_int_equal(thread->pending.blocked_ns + thread->pending.run_queue_ns, 7 * MS);
}

static void waits_for_gvl(bool is_wait)
{
	wait();
	assert_int_equal(thread->pending.gvl_ns, is_wait ? 7 * MS : 0);
	assert_int_equal(thread->pending.gvl_waits, is_wait);
}

#define GVL_TEST(test) TEST_WITH(test, set_up, NULL)

GVL_TEST(gvl_wait_is_charged_with_its_time_in_the_run_queue)
{
	be_in_list(list);
	waits_for_gvl(true);
	assert_int_equal(thread->pending.blocked_on_ns[BLOCKED_ON_FUTEX - 1], 5 * MS);
}

GVL_TEST(gvl_wait_on_the_other_word_is_charged)
{
	be_in_list(list);
	be_in_call(BLOCKED_CALL_futex, around + 24 + GVL_FUTEX_BYTES + 4, 0);
	waits_for_gvl(true);
}

GVL_TEST(gvl_wait_is_charged_where_the_futex_is_nearer)
{
	be_in_call(BLOCKED_CALL_futex, around + 24 + GVL_FUTEX_BYTES - 8, 0);
	be_in_list(list);
	waits_for_gvl(true);
}

GVL_TEST(gvl_wait_does_not_include_a_sleep_on_the_same_futex)
{
	be_in_list(around + 24);
	waits_for_gvl(false);
}

GVL_TEST(gvl_wait_is_not_told_of_other_rubies)
{
	be_in_list(list);
	thread->config.flags &= ~(uint32_t)PROCESS_SHOWS_GVL;
	waits_for_gvl(false);
}

GVL_TEST(gvl_wait_is_in_no_other_call)
{
	be_in_list(list);
	be_in_call(BLOCKED_CALL_nanosleep, around + 24 + GVL_FUTEX_BYTES, 0);
	waits_for_gvl(false);
}

GVL_TEST(gvl_wait_is_none_where_memory_cannot_be_read)
{
	be_in_list(FORGED_BASE + FORGED_BYTES);
	waits_for_gvl(false);
	be_in_list(3);
	waits_for_gvl(false);
	be_in_call(BLOCKED_CALL_futex, 8, 0);
	waits_for_gvl(false);
	be_in_call(BLOCKED_CALL_futex, FORGED_BASE + FORGED_BYTES, 0);
	waits_for_gvl(false);
}
