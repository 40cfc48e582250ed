/* SPDX-License-Identifier: GPL-2.0-only */
/* The scheduler's boundaries: a thread leaves a CPU, another one gets it. */
#pragma once

#include "boundary.bpf.h"
#include "registration.bpf.h"

/* In addition to the values of off_cpu_reason(). */
enum {
	NOT_OUT = 0xff
};

/*
 * With probes in place, reading the pointer at a switch-out only proves that no probe was missed,
 * so it is not done at each switch if there are very many. Likewise, without a count of changes,
 * the contents of the same objects are not compared each time.
 */
static __always_inline bool must_confirm(struct thread_state *thread, __u64 now_ns)
{
	return context_changes_unprobed(thread) || thread->knowledge != CONTEXT_KNOWN ||
	       now_ns - thread->confirmed_ns > CONFIRM_PERIOD_NS || context_has_new_config(thread);
}

/*
 * The books are held: records this switch for the next holder to write up (missed_switches.h).
 * stolen_ns: for a switch-in. off_reason: for a switch-out; NOT_OUT = a switch-in. Written in
 * place: stack space is scarce.
 */
static __noinline int switch_note(struct thread_state *thread, struct task_struct *task,
				  __u64 now_ns, __u64 stolen_ns, __u32 off_reason)
{
	struct missed_switch *one = missed_switches_next(&thread->missed);

	edge_disarm(thread);
	if (!one) {
		count_loss(thread->life, COUNTER_BOUNDARY_BUSY);
		return 0;
	}
	thread_figures(task, &one->figures);
	one->at_ns = now_ns;
	one->stolen_ns = stolen_ns;
	one->is_out = off_reason != NOT_OUT;
	one->off_reason = off_reason;
	one->cpu = bpf_get_smp_processor_id();
	one->stack = thread->waited.next_stack;
	one->tip = thread->waited.next_tip;
	missed_switches_note(&thread->missed);
	return 0;
}

/* next: the task that gets the CPU. */
static __always_inline void switch_out(struct thread_state *thread, struct task_struct *task,
				       struct task_struct *next, __u64 now_ns, bool is_preempted)
{
	__u32 reason = off_cpu_reason_here(thread, task, is_preempted);
	bool is_dead = task->__state & TASK_STATE_DEAD;
	struct kernel_figures figures;
	__u64 since_ns, interval_ns, is_change = 0;

	if (!thread_take(thread, task, now_ns, 0)) {
		switch_note(thread, task, now_ns, 0, reason);
		/* The thread is not visited any more. Its exit wrote up all but the time since
		 * then. */
		if (is_dead) {
			edge_abandon(thread);
			registration_end(thread, task);
		}
		return;
	}
	boundary_enter(thread, task, now_ns, BOUNDARY_LEAVING_WAIT);
	/* The flush may charge the thread while it sleeps, and cannot read the counters of the gem
	 * then: read all GC time up to here. */
	counters_look(thread, now_ns, thread->gc.serial);
	since_ns = thread->clock.mark_ns;
	thread_figures(task, &figures);
	thread->is_at_switch = 1;
	if (must_confirm(thread, now_ns))
		is_change = context_confirm(thread, task, now_ns,
					    now_ns - thread->compared_ns < CONFIRM_PERIOD_NS);
	thread->is_at_switch = 0;
	interval_ns = account_switch_out_inlined(&thread->clock, &thread->pending, now_ns, &figures,
						 reason);
	boundary_note(thread, since_ns, interval_ns, is_change);
	if (thread->clock.exec_ahead_ns)
		(void)charge_take_back(thread);
	/* No next stint compensates for what is left: the books show it. */
	if (is_dead)
		account_forgive(&thread->clock);
	boundary_keep_change(thread, task, now_ns);
	if (is_dead || thread->epoch != current_epoch)
		boundary_charge(thread, task, now_ns, BOUNDARY_LEAVING_WINDOW, figures.exec_ns);
	else if (session.has_wait_stacks && thread->knowledge == CONTEXT_KNOWN &&
		 !thread->is_unread)
		boundary_charge(thread, task, now_ns, BOUNDARY_LEAVING_WAIT, 0);
	charge_details(thread);
	if (session.has_wait_stacks)
		(void)wait_places_begin(thread, thread->waited.next_stack, thread->waited.next_tip);
	if (session.stall_least_ns && !is_dead)
		(void)stall_watch_wait(thread, next, charge_hash(thread));
	timeline_tell(thread);
	if (is_dead)
		registration_end(thread, task);
	thread_release(thread);
}

/* Handles a thread that gets a CPU, but whose last switch-out was not reported. Not inlined:
 * stack space is scarce. */
static __noinline int switch_leave_unseen(struct thread_state *thread, struct task_struct *task,
					  __u64 now_ns)
{
	struct kernel_figures figures;

	thread_figures(task, &figures);
	charge_note_pending(thread, charge_since(thread));
	account_leave_unseen(&thread->clock, &thread->pending, now_ns, &figures);
	if (session.has_wait_stacks)
		(void)wait_places_begin(thread, STACK_NOT_SEEN, TIP_NONE);
	if (session.stall_least_ns)
		stall_miss(thread, now_ns);
	timeline_tell(thread);
	count_loss(thread->life, COUNTER_SWITCH_UNSEEN);
	return 0;
}

/* other: the task that leaves the CPU. */
static __always_inline void switch_in(struct thread_state *thread, struct task_struct *task,
				      struct task_struct *other, __u64 now_ns)
{
	__u64 stolen_ns = stolen_at_switch_in(task);

	thread->is_pointer_old = 0;
	if (!thread_take(thread, task, now_ns, 1)) {
		switch_note(thread, task, now_ns, stolen_ns, NOT_OUT);
		return;
	}
	if (!thread->clock.is_off_cpu)
		(void)switch_leave_unseen(thread, task, now_ns);
	/* The window ended while it was off the CPU, and the collector has not come to it yet. */
	if (thread->epoch != current_epoch)
		boundary_charge(thread, task, now_ns, BOUNDARY_FLUSH_OFF_CPU,
				thread->clock.exec_mark_ns);
	charge_details(thread);
	account_switch_in(&thread->clock, &thread->pending, now_ns, stolen_ns,
			  bpf_get_smp_processor_id());
	if (session.has_timeline)
		timeline_switch_in(&thread->timeline, &thread->clock);
	if (session.stall_least_ns)
		(void)stall_enter(thread, task, other, now_ns);
	thread_release(thread);
}

PROGRAM("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool is_preempted, struct task_struct *prev, struct task_struct *next)
{
	struct edge_slot *slot = edge_slot_here();
	struct thread_state *leaving = NULL, *entering;
	/* One reading for both: the old interval ends where the new one begins. */
	__u64 now_ns = 0;

	if (!edge_knows_unobserved(slot, prev))
		leaving = edge_find_switching(slot, prev);
	else if (edge_knows_unobserved(slot, next))
		return 0;
	if (leaving) {
		now_ns = clock_of_switch(prev);
		switch_out(leaving, prev, next, now_ns, is_preempted);
		edge_note_running(slot, 0);
	}
	/* Looked up only here: otherwise the verifier would follow all of the above with and
	 * without it. */
	if (edge_knows_unobserved(slot, next))
		return 0;
	entering = edge_find_switching(slot, next);
	if (!entering)
		return 0;
	edge_note_running(slot, 1);
	if (!now_ns)
		now_ns = clock_of_switch(next);
	switch_in(entering, next, prev, now_ns);
	return 0;
}
