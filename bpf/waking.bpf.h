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
	__u64 hash = 0, now_ns;

	/* In the middle of a boundary. */
	if (!thread || thread->is_busy || (slot && slot->is_busy))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!boundary_begin(thread, current, now_ns, BOUNDARY_CALL_READ))
		return 0;
	/* In no system call, but in a fault: a store may be ahead. */
	if (!thread->is_change_open) {
		/* Locks are held here, as at a switch: the same limit on long values. */
		thread->is_at_switch = 1;
		boundary_close(thread, current, now_ns, BOUNDARY_CALL_READ, thread->clock.mode);
		thread->is_at_switch = 0;
		hash = charge_hash(thread);
	}
	thread_release(thread);
	return hash < CONTEXT_HASH_FIRST ? 0 : hash;
}

/* The enum stall_flags of a waker: interrupt is compat_interrupt()'s. */
static __always_inline __u32 waking_flags(bool is_interrupt, __u32 interrupt)
{
	if (!is_interrupt)
		return STALL_WAS_WOKEN;
	if (interrupt & session.interrupt_bits)
		return STALL_WAS_WOKEN | STALL_BY_INTERRUPT | STALL_BY_HARDIRQ;
	return STALL_WAS_WOKEN | STALL_BY_INTERRUPT |
	       (interrupt & PREEMPT_COUNT_SOFTIRQ ? STALL_BY_SOFTIRQ : 0);
}

/* A watched wait of the thread, whose task is asleep, ends. waker: tgid << 32 | tid; 0 = an
 * interrupt, or a task that the observer does not see. */
static __always_inline void waking_end_wait(struct thread_state *thread, struct task_struct *task,
					    struct task_struct *current, __u64 waker, __u32 flags)
{
	struct stall_watch *watch = &thread->stall;

	/* It may be on its CPU again, and about to sleep once more. */
	if (*(volatile __u64 *)&watch->entered_ns || !*(volatile __u64 *)&watch->left_ns)
		return;
	watch->waker = waker;
	watch->waker_hash = 0;
	watch->flags = flags;
	if (!stall_is_long(watch, bpf_ktime_get_ns(), session.stall_least_ns))
		return;
	(void)stall_note_ready(watch, task);
	if (flags & STALL_BY_INTERRUPT)
		return;
	(void)bpf_probe_read_kernel(watch->waker_comm, sizeof(watch->waker_comm), current->comm);
	watch->waker_hash = waking_context(current);
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
	__u32 interrupt;
	bool is_interrupt;
	__u64 waker = 0;

	if (!thread)
		return 0;
	interrupt = compat_interrupt(current, session.preempt_count_offset, session.interrupt_bits);
	is_interrupt = !current->pid || interrupt;
	if (!is_interrupt)
		waker = (__u64)identity_tgid(current) << 32 | identity_tid(current);
	if (session.has_timeline)
		*(volatile __u64 *)&thread->timeline.waker = waker;
	if (session.stall_least_ns)
		waking_end_wait(thread, task, current, waker,
				waking_flags(is_interrupt, interrupt));
	return 0;
}
