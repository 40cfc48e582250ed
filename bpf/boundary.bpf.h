/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The single path through a boundary: boundary_begin() takes the books and brings them up to the
 * previous boundary, boundary_close() closes the open interval, boundary_end() charges and resets
 * what ends here. Each call site describes its boundary by a constant of correlator/boundary.h, so
 * the compiler keeps only the steps that apply.
 *
 * Except for boundary_begin(), the caller holds the thread.
 */
#pragma once

#include "context.bpf.h"

#include <correlator/boundary.h>

/* Resets the current thread's knowledge of its context, after a charge: the store follows the
 * probe, so which context comes next is not known yet. */
static __always_inline void boundary_forget_context(struct thread_state *thread)
{
	thread->knowledge = CONTEXT_UNKNOWN;
	thread->is_change_open = 1;
	thread->has_passed_probe = 1;
}

/* The same for its name or image. */
VERIFIED_ONCE int boundary_forget(struct thread_state *thread, __u32 what)
{
	if (!thread)
		return 0;
	if (what & BOUNDARY_ENDS_NAME) {
		thread->knowledge = CONTEXT_UNKNOWN;
		/* Our gem (PROCESS_TELLS_FIBERS) clears the pointer when a Ruby thread ends, so
		 * the context in force is this thread's own, whatever its name. */
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
		if (session.has_timeline)
			thread->timeline.stint.fiber = 0;
	}
	return 0;
}

/* After the charge: takes the origin of the next image, and resets the thread's knowledge. */
static __always_inline void boundary_renew(struct thread_state *thread, __u32 what)
{
	if (what & BOUNDARY_ENDS_IMAGE)
		origin_take(thread);
	if (what & BOUNDARY_ENDS_CONTEXT)
		boundary_forget_context(thread);
	if (what & (BOUNDARY_ENDS_NAME | BOUNDARY_ENDS_IMAGE))
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

	if (thread->has_missed_probe) {
		what |= BOUNDARY_ENDS_CONTEXT;
		thread->state_serial = 0;
	}
	if (thread->has_missed_rename)
		what |= BOUNDARY_ENDS_NAME;
	charge_pending(thread, task, now_ns);
	boundary_renew(thread, what);
	if (session.has_timeline && thread->has_missed_probe)
		thread->timeline.stint.fiber = thread->timeline.missed_fiber;
	/* Last: which context a missed probe set before the exec is not known. */
	if (thread->has_missed_exec)
		boundary_renew(thread, BOUNDARY_ENDS_IMAGE);
	thread->has_missed_probe = 0;
	thread->has_missed_rename = 0;
	thread->has_missed_exec = 0;
	return 0;
}

/*
 * Closes an open change if the current thread is in a system call: its store has happened. Between
 * probe and store only the calls that allocate the variable occur, and then the variable is not
 * resolved. If no variable is known, there is nothing to wait for.
 */
VERIFIED_ONCE int boundary_close_change(struct thread_state *thread)
{
	if (thread &&
	    (thread->tls_resolution == TLS_RESOLVED || !(thread->config.flags & PROCESS_READY)) &&
	    compat_is_in_syscall(bpf_get_current_task_btf()))
		thread->is_change_open = 0;
	return 0;
}

/* Tells of the wait before the boundary, if it was long. The gap must be split, and counters not be
 * taken yet. */
VERIFIED_ONCE int boundary_tell_stall(struct thread_state *thread)
{
	/* Kernels before 6.8 verify this even if nothing calls it, and then there is no ring. */
	if (!session.stall_least_ns || !thread || !thread->stall.left_ns)
		return 0;
	counters_note_stall(thread);
	stall_tell(thread, bpf_get_current_task_btf());
	return 0;
}

/* Brings the books of a running thread, which the caller holds, up to its last boundary. what: the
 * boundary that it is at; a probe is in no system call. */
static __always_inline void boundary_enter(struct thread_state *thread, struct task_struct *task,
					   __u64 now_ns, __u32 what)
{
	if (thread->clock.is_off_cpu)
		thread_enter_unseen(thread, task);
	if (thread->clock.gap_ns)
		charge_note_pending(thread, charge_since(thread));
	if (account_has_gap(&thread->clock))
		account_settle_gap(&thread->clock, &thread->pending, task->sched_info.run_delay);
	if (session.stall_least_ns && thread->stall.left_ns)
		(void)boundary_tell_stall(thread);
	if (what != BOUNDARY_PROBE && thread->is_change_open)
		(void)boundary_close_change(thread);
	if (thread->knowledge == CONTEXT_KNOWN_TILL_IT_RUNS)
		charge_time_off_cpu(thread, task, now_ns);
	if (thread->has_missed_probe || thread->has_missed_rename || thread->has_missed_exec)
		boundary_do_missed(thread, task, now_ns);
}

/*
 * Takes the books of a running thread and brings them up to its last boundary. False: the books are
 * held; the boundary is counted as missed, and exec runtime keeps the sums right.
 */
static __always_inline bool boundary_begin(struct thread_state *thread, struct task_struct *task,
					   __u64 now_ns, __u32 what)
{
	if (!thread_take(thread, task, now_ns, 0)) {
		count_loss(thread->life, COUNTER_BOUNDARY_BUSY);
		return false;
	}
	boundary_enter(thread, task, now_ns, what);
	return true;
}

/* Accounts for a closed interval that began at since_ns. is_change: 1 = the context changed, or
 * may have changed, inside it. */
static __always_inline void boundary_note(struct thread_state *thread, __u64 since_ns,
					  __u64 interval_ns, __u64 is_change)
{
	counters_claim(thread);
	thread->pending.ambiguous_ns += interval_ns & -is_change;
	thread->sure_ns = account_on_cpu(&thread->pending);
	charge_note_pending(thread, since_ns);
}

/* Closes the open interval of a thread that stays on its CPU: its length by the clock, its
 * context by the rule of attribution (context_confirm()). */
static __always_inline void boundary_close(struct thread_state *thread, struct task_struct *task,
					   __u64 now_ns, __u32 what, __u32 next_mode)
{
	__u64 since_ns = thread->clock.mark_ns;
	__u64 pointer = thread->state_pointer;
	bool is_cheap = what & BOUNDARY_IS_CHEAP;
	__u64 is_change, ns;

	if (what & BOUNDARY_IS_LAST) {
		thread->is_change_open = 0;
		context_want_snapshot(thread);
	}
	if (!(what & BOUNDARY_READS)) {
		charge_note_pending(thread, since_ns);
		(void)account_edge(&thread->clock, &thread->pending, now_ns, next_mode);
		return;
	}
	counters_look(thread, now_ns, !is_cheap);
	is_change = 0;
	if (what != BOUNDARY_PROBE || !context_confirm_announced(thread, now_ns))
		is_change = context_confirm(thread, task, now_ns, is_cheap);
	if (thread_is_lean(thread) && thread->state_pointer != pointer)
		(void)context_ask_unprobed(thread, now_ns);
	ns = account_edge(&thread->clock, &thread->pending, now_ns, next_mode);
	boundary_note(thread, since_ns, ns, is_change);
}

/*
 * Between a probe and the store that follows it, the thread-local still points to the old context:
 * a context that is read there is valid only until the thread runs again.
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
 * Charges whatever the boundary ends, and resets the thread's knowledge. The interval must be
 * closed. exec_ns: the thread's exec runtime, used if a window ends. boundary_release() charges
 * system calls and waits.
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

/* boundary_charge() for a thread that stays on its CPU. */
static __always_inline void boundary_end(struct thread_state *thread, struct task_struct *task,
					 __u64 now_ns, __u32 what)
{
	__u64 exec_ns = 0;

	account_settle_stolen(&thread->clock, &thread->pending,
			      what == BOUNDARY_PROBE ? stolen_from_cpu_here(task, now_ns)
						     : stolen_from_cpu(now_ns));
	/* Stolen time in excess of pending time is still charged: subtract only what was taken
	 * out. */
	if (what & BOUNDARY_ENDS_WINDOW)
		exec_ns = exec_runtime_at(task, now_ns, thread->clock.stolen_mark_ns);
	if (what & BOUNDARY_ENDS)
		thread->pending.slices++;
	else
		boundary_keep_change(thread, task, now_ns);
	boundary_charge(thread, task, now_ns, what, exec_ns);
}

/* Call only where global functions are allowed (charge_details()). */
static __always_inline void boundary_release(struct thread_state *thread)
{
	charge_details(thread);
	thread_release(thread);
}
