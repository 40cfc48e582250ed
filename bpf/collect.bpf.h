/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flush's programs: with them no window keeps a thread's time back. Threads off the CPU are
 * met by the task iterator, running ones by an interrupt on their CPU (a test run of a raw
 * tracepoint program on a given CPU runs there, in interrupt, with `current` the thread).
 */
#pragma once

#include "context.bpf.h"
#include "registration.bpf.h"

static __always_inline void register_task(struct task_struct *task)
{
	__u32 tgid = identity_tgid(task);
	__u32 is_off_cpu = !task->on_cpu;
	__u32 state = task->__state;
	__u32 mode = THREAD_MODE_USER;
	__u32 reason = OFF_CPU_SLEEPING;

	if (!bpf_map_lookup_elem(&processes, &tgid))
		return;
	if (state == TASK_STATE_RUNNING)
		reason = OFF_CPU_RUNNABLE;
	/* The saved registers of a running thread may be those of an earlier system call. */
	if (is_off_cpu && compat_is_in_syscall(task))
		mode = THREAD_MODE_KERNEL;
	registration_begin(task, is_off_cpu, reason, mode, INHERITED_FIRST_READ);
}

static __always_inline void flush_task(struct task_struct *task)
{
	struct thread_state *thread = bpf_task_storage_get(&threads, task, NULL, 0);
	bool is_runnable = task->__state == TASK_STATE_RUNNING;
	__u64 now_ns, since_ns;

	if (!thread || !thread->is_ready)
		return;
	/* Running threads are for the interrupt: held here, they would miss boundaries. */
	if (!is_stopped && !thread->clock.is_off_cpu) {
		if (thread->epoch != current_epoch)
			__sync_fetch_and_add(&stragglers, 1);
		return;
	}
	if (!thread_try_hold(thread)) {
		__sync_fetch_and_add(&stragglers, 1);
		return;
	}
	now_ns = bpf_ktime_get_ns();
	since_ns = thread->clock.mark_ns;
	if (account_collect(&thread->clock, &thread->pending, now_ns, is_runnable))
		charge_note_pending(thread, since_ns);
	if (is_stopped)
		charge_close_running(thread, task, now_ns);
	/*
	 * It may have got a CPU just before it was held. One that got it after the programs were
	 * stopped runs on unseen: its books end where they were last written.
	 */
	if (thread->clock.is_off_cpu)
		charge_end_window(thread, task, now_ns, thread->clock.exec_mark_ns);
	else if (thread->epoch != current_epoch)
		__sync_fetch_and_add(&stragglers, 1);
	thread_release(thread);
}

SEC("iter/task")
int collect_tasks(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;

	if (!task)
		return 0;
	if (collect_phase == COLLECT_PHASE_OTEL) {
		if (session.watches_otel)
			otel_register(task, identity_tgid(task), false);
	} else if (collect_phase == COLLECT_PHASE_REGISTER) {
		register_task(task);
	} else {
		flush_task(task);
	}
	return 0;
}

/* Writes up the observed thread that runs on this CPU, if there is one. */
SEC("raw_tp")
int collect_current(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *thread;
	struct edge_slot *slot;
	__u64 now_ns;

	thread = thread_find(task);
	slot = edge_slot_here();
	/* Met in the middle of a boundary: that one is the split. */
	if (!thread || thread->is_busy || (slot && slot->is_busy) || thread->clock.is_off_cpu)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!thread_begin(thread, task, now_ns))
		return 0;
	context_write_up(thread, task, now_ns, thread->clock.mode);
	thread_release(thread);
	return 0;
}
