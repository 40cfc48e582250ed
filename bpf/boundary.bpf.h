/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one way through a boundary: the books are taken and brought up to the last one
 * (boundary_begin()), the open interval is closed (boundary_close()), and what ends here is charged
 * and renewed (boundary_end()). A site says what its boundary is, by a constant of
 * correlator/boundary.h: of the steps the compiler leaves only those that follow.
 *
 * The caller of all but boundary_begin() holds the thread.
 */
#pragma once

#include "context.bpf.h"

#include <correlator/boundary.h>

/* Resets the current thread's knowledge of its context, name or image, after a charge. */
VERIFIED_ONCE int boundary_forget(struct thread_state *thread, __u32 what)
{
	if (!thread)
		return 0;
	if (what & BOUNDARY_ENDS_CONTEXT) {
		/* The store comes after this: what is in force next is not known yet. */
		thread->knowledge = CONTEXT_UNKNOWN;
		thread->is_change_open = 1;
		thread->has_passed_probe = 1;
	}
	if (what & BOUNDARY_ENDS_NAME) {
		thread->knowledge = CONTEXT_UNKNOWN;
		/* Our gem, which tells fibers, empties the pointer where a Ruby thread ends: what
		 * is in force is this one's own, whatever it is called. */
		if (!(thread->config.flags & PROCESS_TELLS_FIBERS)) {
			thread->has_passed_probe = 0;
			thread->inherited_pointer = thread->state_pointer;
		}
		if (session.watches_otel)
			otel_begin_name();
	}
	if (what & BOUNDARY_ENDS_IMAGE) {
		thread_renew_image(thread, bpf_get_current_task_btf());
		origin_begin(thread);
	}
	if (session.has_timeline && what & (BOUNDARY_ENDS_CONTEXT | BOUNDARY_ENDS_IMAGE))
		thread->timeline.slice.fiber = 0;
	return 0;
}

/* After the charge: takes the origin of the next image, and resets the thread's knowledge. */
static __always_inline void boundary_renew(struct thread_state *thread, __u32 what)
{
	if (what & BOUNDARY_ENDS_IMAGE)
		origin_take(thread);
	if (what & BOUNDARY_ENDS)
		(void)boundary_forget(thread, what);
}

/*
 * Makes up for a probe, rename or exec that found the books held: charges the pending time to the
 * old context; the next boundary that reads finds the new one.
 */
static __noinline int boundary_do_missed(struct thread_state *thread, struct task_struct *task,
					 __u64 now_ns)
{
	__u32 what = 0;

	if (thread->has_missed_probe)
		what |= BOUNDARY_ENDS_CONTEXT;
	if (thread->has_missed_rename)
		what |= BOUNDARY_ENDS_NAME;
	charge_pending(thread, task, now_ns);
	boundary_renew(thread, what);
	if (session.has_timeline && thread->has_missed_probe)
		thread->timeline.slice.fiber = thread->timeline.missed_fiber;
	/* Behind these: what a probe that was missed has brought, before it ended, nobody knows. */
	if (thread->has_missed_exec)
		boundary_renew(thread, BOUNDARY_ENDS_IMAGE);
	thread->has_missed_probe = 0;
	thread->has_missed_rename = 0;
	thread->has_missed_exec = 0;
	return 0;
}

/*
 * The current thread, if it is in a system call, has stored behind the probe: in between there is
 * no call but those that allocate the variable, which is found then no more than before. Where no
 * variable is known there is nothing to wait for.
 */
VERIFIED_ONCE int boundary_close_change(struct thread_state *thread)
{
	if (thread &&
	    (thread->tls_resolution == TLS_RESOLVED || !(thread->config.flags & PROCESS_READY)) &&
	    compat_is_in_syscall(bpf_get_current_task_btf()))
		thread->is_change_open = 0;
	return 0;
}

/* Brings the books of a running thread, which the caller holds, up to its last boundary. */
static __always_inline void boundary_enter(struct thread_state *thread, struct task_struct *task,
					   __u64 now_ns)
{
	if (thread->clock.is_off_cpu)
		thread_enter_unseen(thread, task);
	if (thread->clock.gap_ns)
		charge_note_pending(thread, charge_since(thread));
	if (account_has_gap(&thread->clock))
		account_settle_gap(&thread->clock, &thread->pending, task->sched_info.run_delay);
	if (thread->is_change_open)
		(void)boundary_close_change(thread);
	if (thread->knowledge == CONTEXT_KNOWN_TILL_IT_RUNS)
		charge_time_off_cpu(thread, task, now_ns);
	if (thread->has_missed_probe || thread->has_missed_rename || thread->has_missed_exec)
		boundary_do_missed(thread, task, now_ns);
}

/*
 * Takes the books of a running thread and brings them up to its last boundary. False: they are
 * taken; the boundary is counted as missed, and exec runtime keeps the sums right.
 */
static __always_inline bool boundary_begin(struct thread_state *thread, struct task_struct *task,
					   __u64 now_ns)
{
	if (!thread_take(thread, task, now_ns, 0)) {
		count_loss(thread->life, COUNTER_BOUNDARY_BUSY);
		return false;
	}
	boundary_enter(thread, task, now_ns);
	return true;
}

/* An interval is closed, which began at since_ns. is_change: the context changed inside of it,
 * maybe. */
static __always_inline void boundary_note(struct thread_state *thread, __u64 since_ns,
					  __u64 interval_ns, __u64 is_change)
{
	counters_claim(thread);
	thread->pending.ambiguous_ns += interval_ns & -is_change;
	thread->sure_ns = account_on_cpu(&thread->pending);
	charge_note_pending(thread, since_ns);
}

/* Closes the open interval of a thread that stays on its CPU: by the clock, and by the rule. */
static __always_inline void boundary_close(struct thread_state *thread, struct task_struct *task,
					   __u64 now_ns, __u32 what, __u32 next_mode)
{
	__u64 since_ns = thread->clock.mark_ns;
	__u64 pointer = thread->state_pointer;
	bool is_cheap = what & BOUNDARY_IS_CHEAP;
	__u64 is_change, ns;

	if (what & BOUNDARY_IS_LAST)
		thread->is_change_open = 0;
	if (!(what & BOUNDARY_READS)) {
		charge_note_pending(thread, since_ns);
		(void)account_edge(&thread->clock, &thread->pending, now_ns, next_mode);
		return;
	}
	counters_look(thread, now_ns, !is_cheap);
	is_change = context_confirm(thread, task, now_ns, is_cheap);
	if (thread_is_lean(thread) && thread->state_pointer != pointer)
		(void)context_ask_unprobed(thread, now_ns);
	ns = account_edge(&thread->clock, &thread->pending, now_ns, next_mode);
	boundary_note(thread, since_ns, ns, is_change);
}

/*
 * Between a probe and the store that follows it the pointer still names the old context: what is in
 * force next was not read yet.
 */
static __always_inline void boundary_keep_change(struct thread_state *thread,
						 struct task_struct *task, __u64 now_ns)
{
	if (!thread->is_change_open || thread->knowledge != CONTEXT_KNOWN)
		return;
	charge_pending(thread, task, now_ns);
	thread->knowledge = CONTEXT_KNOWN_TILL_IT_RUNS;
}

/*
 * Charges whatever the boundary ends, and resets the thread's knowledge. The interval is closed.
 * exec_ns: the thread's exec runtime, used if a window ends. boundary_release() adds system calls
 * and waits.
 */
static __always_inline void boundary_charge(struct thread_state *thread, struct task_struct *task,
					    __u64 now_ns, __u32 what, __u64 exec_ns)
{
	if (what & BOUNDARY_ENDS_WINDOW)
		charge_end_window(thread, task, now_ns, exec_ns);
	else if (what & BOUNDARY_ENDS)
		charge_pending(thread, task, now_ns);
	else if (what & BOUNDARY_CHARGES)
		charge_so_far(thread, task, now_ns);
	boundary_renew(thread, what);
}

/* The same of a thread that is on its CPU, and stays there. */
static __always_inline void boundary_end(struct thread_state *thread, struct task_struct *task,
					 __u64 now_ns, __u32 what)
{
	__u64 exec_ns = 0;

	account_settle_stolen(&thread->clock, &thread->pending, stolen_from_cpu(now_ns));
	/* Theft that pending time was too short for is still charged. */
	if (what & BOUNDARY_ENDS_WINDOW)
		exec_ns = exec_runtime_at(task, now_ns, thread->clock.stolen_mark_ns);
	if (what & BOUNDARY_ENDS)
		thread->pending.slices++;
	else
		boundary_keep_change(thread, task, now_ns);
	boundary_charge(thread, task, now_ns, what, exec_ns);
}

/* Where a global function may be called (charge_details()). */
static __always_inline void boundary_release(struct thread_state *thread)
{
	charge_details(thread);
	thread_release(thread);
}
