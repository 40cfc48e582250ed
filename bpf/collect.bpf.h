/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flush's programs: they write up every thread, so no window lacks a thread's time. The task
 * iterator visits threads off the CPU, an interrupt on their CPU visits running ones (a test run of
 * a raw tracepoint program on a given CPU runs there, in interrupt context, with `current` being
 * the thread).
 */
#pragma once

#include "boundary.bpf.h"
#include "registration.bpf.h"

/*
 * Registers in passes, with a round of interrupts in between (registration_begin()): the pass after
 * the one that found a thread begins its books if it is off the CPU. A thread that has switched in
 * since, or does now, begins them itself.
 */
static __always_inline void register_task(struct task_struct *task)
{
	__u64 life = life_of(task);
	struct thread_state *thread;
	__u32 noted;

	if (!life || !bpf_map_lookup_elem(&processes, &life))
		return;
	thread = registration_begin(task, life, INHERITED_FIRST_READ);
	if (!thread)
		return;
	noted = missed_switches_load(&thread->missed.noted);
	if (!thread->found_in_pass)
		thread->found_in_pass = registration_pass;
	if (thread->is_ready && thread->found_in_pass != registration_pass &&
	    !missed_switches_end_on_cpu(&thread->missed)) {
		thread_begin_books(thread, task, bpf_ktime_get_ns(), 1);
		if (missed_switches_load(&thread->missed.noted) != noted)
			thread->is_begun = 0;
	}
	if (thread->is_ready && !thread->is_begun)
		__sync_fetch_and_add(&stragglers, 1);
	thread_release(thread);
}

/* Leaves the thread for the next pass, or, after the last pass, for the next window. */
static __noinline int leave_for_later(struct thread_state *thread, struct task_struct *task)
{
	__sync_fetch_and_add(&stragglers, 1);
	if (collect_phase != COLLECT_PHASE_FLUSH_LATE)
		return 0;
	count_loss(thread->life, COUNTER_THREAD_LATE);
	if (charge_must_keep(thread) && thread_try_hold(thread)) {
		(void)charge_keep_context(thread, task);
		thread_release(thread);
	}
	return 0;
}

/*
 * Writes up the thread's edges in a CPU's slot and its missed switches and calls first: the code
 * that looks at the books next may run under compat_preempt_disable(), where global functions must
 * not be called.
 */
static __always_inline void flush_missed(struct thread_state *thread)
{
	bool has_edges = thread->armed_cpu && (is_stopped || thread->clock.is_off_cpu);

	if (!has_edges && !thread_has_missed(thread))
		return;
	if (!thread_try_hold(thread))
		return;
	if (edge_fold(thread))
		(void)thread_settle_missed(thread);
	thread_release(thread);
}

/* Holds the books of a thread for a flush; false: not now, or there is nothing to write up. */
static __always_inline bool flush_hold(struct thread_state *thread, struct task_struct *task)
{
	/* Running threads are left to the interrupt: held here, they would miss boundaries. So is a
	 * thread that got its CPU unseen, whose CPU may not have been interrupted yet. */
	if (!is_stopped && (!thread->clock.is_off_cpu || task->on_cpu)) {
		if (thread->epoch != current_epoch)
			(void)leave_for_later(thread, task);
		return false;
	}
	if (thread_try_hold(thread)) {
		if (!thread->armed_cpu)
			return true;
		thread_release(thread);
	}
	(void)leave_for_later(thread, task);
	return false;
}

/* True: the thread is held, and the caller has to charge its system calls and release it. */
static __always_inline bool flush_task(struct thread_state *thread, struct task_struct *task)
{
	bool is_runnable = task->__state == TASK_STATE_RUNNING;
	__u64 now_ns, since_ns;

	if (!flush_hold(thread, task))
		return false;
	now_ns = bpf_ktime_get_ns();
	since_ns = thread->clock.mark_ns;
	/* It may have got a CPU since: that switch is recorded, and the next pass visits the
	 * thread. */
	if (missed_switches_wait(&thread->missed) && !is_stopped) {
		(void)leave_for_later(thread, task);
		thread_release(thread);
		return false;
	}
	if (account_collect(&thread->clock, &thread->pending, now_ns, is_runnable))
		charge_note_pending(thread, since_ns);
	else if (charge_must_keep(thread))
		(void)charge_keep_context(thread, task);
	if (is_stopped)
		charge_close_running(thread, task, now_ns);
	/*
	 * The thread may have got a CPU just before it was held. If it got one after the programs
	 * were stopped, it runs on unseen, and its books end where they were last written.
	 */
	if (thread->clock.is_off_cpu)
		boundary_charge(thread, task, now_ns, BOUNDARY_FLUSH_OFF_CPU,
				thread->clock.exec_mark_ns);
	else if (thread->epoch != current_epoch)
		(void)leave_for_later(thread, task);
	return true;
}

/* Returns the thread whose books the flush is to write up; NULL = none. In the other phases
 * registers the task instead. */
static __always_inline struct thread_state *collect_find(struct task_struct *task)
{
	struct thread_state *thread;

	if (collect_phase == COLLECT_PHASE_OTEL) {
		if (session.watches_otel)
			otel_register(task, life_of(task), false);
		return NULL;
	}
	if (collect_phase == COLLECT_PHASE_REGISTER) {
		register_task(task);
		return NULL;
	}
	thread = bpf_task_storage_get(&threads, task, NULL, 0);
	if (!thread || !thread->is_ready || !thread->is_begun)
		return NULL;
	flush_missed(thread);
	return thread;
}

/* The task that the iterator visits now; NULL: it has visited all. */
static __always_inline struct task_struct *collect_visit(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;

	if (task)
		walk_is_whole = (__u64)task->thread_node.next ==
				(__u64)task->signal +
					bpf_core_field_offset(struct signal_struct, thread_head);
	return task;
}

PROGRAM("?iter/task")
int collect_tasks(struct bpf_iter__task *context)
{
	struct task_struct *task = collect_visit(context);
	struct thread_state *thread = task ? collect_find(task) : NULL;

	if (thread && flush_task(thread, task))
		boundary_release(thread);
	return 0;
}

/*
 * collect_tasks() for kernels that let us disable preemption: the holder of another thread's books
 * is then not preempted. Without it the results are still right, but that thread misses boundaries
 * while the holder is preempted.
 */
PROGRAM("?iter/task")
int collect_tasks_undisturbed(struct bpf_iter__task *context)
{
	struct task_struct *task = collect_visit(context);
	struct thread_state *thread = task ? collect_find(task) : NULL;
	bool is_held;

	if (!thread)
		return 0;
	compat_preempt_disable();
	is_held = flush_task(thread, task);
	compat_preempt_enable();
	if (is_held)
		boundary_release(thread);
	return 0;
}

/* Writes up the observed thread that runs on this CPU, if any, and if collect_life selects it. */
PROGRAM("raw_tp")
int collect_current(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *thread;
	struct edge_slot *slot;
	__u64 now_ns;

	thread = thread_find(task);
	slot = edge_slot_here();
	edge_note_running(slot, thread != NULL);
	/* In the middle of a boundary, which splits the interval itself. */
	if (!thread || thread->is_busy || (slot && slot->is_busy))
		return 0;
	if (collect_life && thread->life != collect_life)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!boundary_begin(thread, task, now_ns, BOUNDARY_FLUSH))
		return 0;
	boundary_close(thread, task, now_ns, BOUNDARY_FLUSH, thread->clock.mode);
	boundary_end(thread, task, now_ns, BOUNDARY_FLUSH);
	boundary_release(thread);
	return 0;
}
