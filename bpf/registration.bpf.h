/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that come to be observed, and that are gone. */
#pragma once

#include "emit.bpf.h"
#include "hold.bpf.h"

/* The last switch-out of a thread: with the last one of a process, its books are complete. */
static __always_inline void registration_end(struct thread_state *thread, struct task_struct *task)
{
	struct process_books *process = bpf_map_lookup_elem(&books, &thread->tgid);

	thread->is_ready = 0;
	if (process && __sync_fetch_and_sub(&process->live_threads, 1) == 1)
		emit_event(EVENT_KIND_EXIT, thread->tgid, 0, task, 0);
}

/*
 * Gives a thread its storage and starts its books. The one creator: called for living threads by
 * the iterator, and for new ones on fork. inherited_pointer: INHERITED_FIRST_READ if it may be in a
 * context that it has not set itself, 0 for a new thread, whose thread-local is NULL.
 */
static __always_inline void registration_begin(struct task_struct *task, __u32 is_off_cpu,
					       __u32 off_reason, __u32 mode,
					       __u64 inherited_pointer)
{
	struct kernel_figures figures;
	struct process_books *process;
	struct thread_state *thread;
	__u32 tgid = identity_tgid(task);

	thread = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		count_loss(tgid, COUNTER_STORAGE_FAILED);
		return;
	}
	if (thread->is_ready)
		return;
	thread->tid = identity_tid(task);
	thread->ns_tid = identity_ns_tid(task);
	thread->epoch = current_epoch;
	thread->inherited_pointer = inherited_pointer;
	thread->tgid = tgid;
	thread->serial = __sync_fetch_and_add(&last_serial, 1) + 1;
	thread->generation = generation - 1; /* its first boundary takes the configuration */
	thread_figures(task, &figures);
	if (!is_off_cpu)
		figures.exec_ns = exec_runtime_now(task, bpf_ktime_get_ns());
	thread->exec_published_ns = figures.exec_ns;
	account_begin(&thread->clock, &figures, bpf_ktime_get_ns(), is_off_cpu, off_reason, mode);
	process = bpf_map_lookup_elem(&books, &tgid);
	if (process)
		__sync_fetch_and_add(&process->live_threads, 1);
	barrier();
	*(volatile __u32 *)&thread->is_ready = 1;
	(void)__sync_fetch_and_add(&registrations, 1);
}
