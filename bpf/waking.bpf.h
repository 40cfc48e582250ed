/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The waker of a thread, for the timeline and for stalls. Without --timeline and --stall it is not
 * loaded.
 */
#pragma once

#include "boundary.bpf.h"

/*
 * Returns the context of the current thread, which is in the kernel, or 0: it is in none, or that
 * is not known. Reads it as a system call's edge does.
 */
static __always_inline __u64 waking_context(struct task_struct *current)
{
	struct thread_state *thread = thread_find(current);
	struct edge_slot *slot = edge_slot_here();
	__u64 hash, now_ns;

	/* In the middle of a boundary. */
	if (!thread || thread->is_busy || (slot && slot->is_busy))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!boundary_begin(thread, current, now_ns, BOUNDARY_CALL_READ))
		return 0;
	boundary_close(thread, current, now_ns, BOUNDARY_CALL_READ, thread->clock.mode);
	hash = charge_hash(thread);
	thread_release(thread);
	return hash < CONTEXT_HASH_FIRST ? 0 : hash;
}

/* A long wait of the thread ends. waker: tgid << 32 | tid; 0 = an interrupt. */
static __always_inline void waking_end_stall(struct thread_state *thread,
					     struct task_struct *current, __u64 waker)
{
	struct stall_watch *watch = &thread->stall;
	__u64 hash = 0;

	/* It may be on its CPU again, and about to sleep once more. */
	if (*(volatile __u64 *)&watch->entered_ns ||
	    !stall_is_long(watch, bpf_ktime_get_ns(), session.stall_least_ns))
		return;
	if (waker)
		hash = waking_context(current);
	(void)bpf_probe_read_kernel(watch->waker_comm, sizeof(watch->waker_comm), current->comm);
	watch->waker_hash = hash;
	watch->waker = waker;
	watch->flags = STALL_WAS_WOKEN | (waker ? 0 : STALL_BY_INTERRUPT);
}

/*
 * A task that is asleep, or about to be, is woken: the last waker before it gets a CPU has ended
 * its sleep. If an interrupt wakes it (a timer, a packet, a disk), the interrupted task has nothing
 * to do with it.
 */
PROGRAM("?tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread_state *thread = thread_find(task);
	__u64 waker = 0;

	if (!thread)
		return 0;
	if (current->pid && !compat_is_in_interrupt(current, session.preempt_count_offset))
		waker = (__u64)identity_tgid(current) << 32 | identity_tid(current);
	if (session.has_timeline)
		*(volatile __u64 *)&thread->timeline.waker = waker;
	if (session.stall_least_ns)
		waking_end_stall(thread, current, waker);
	return 0;
}
