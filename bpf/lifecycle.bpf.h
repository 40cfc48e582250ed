/* Threads and processes that come and go. */
#pragma once

#include "identity.bpf.h"
#include "thread.bpf.h"

static __always_inline void lifecycle_emit_at(__u32 kind, __u32 tgid, __u32 parent_tgid,
					      struct task_struct *task, __u64 address)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count_loss(tgid, COUNTER_EVENTS_LOST);
		return;
	}
	event->kind = kind;
	event->tgid = tgid;
	event->parent_tgid = parent_tgid;
	event->ns_tgid = identity_ns_tgid(task);
	event->ktime_ns = bpf_ktime_get_ns();
	event->address = address;
	if (bpf_probe_read_kernel(event->comm, sizeof(event->comm), task->comm))
		event->comm[0] = 0;
	bpf_ringbuf_submit(event, 0);
}

static __always_inline void lifecycle_emit(__u32 kind, __u32 tgid, __u32 parent_tgid,
					   struct task_struct *task)
{
	lifecycle_emit_at(kind, tgid, parent_tgid, task, 0);
}

/* The last switch-out of a thread: with the last one of a process, its books are complete. */
static __always_inline void lifecycle_thread_gone(struct thread_state *thread,
						  struct task_struct *task)
{
	struct process_books *process = bpf_map_lookup_elem(&books, &thread->tgid);

	thread->is_ready = 0;
	if (process && __sync_fetch_and_sub(&process->live_threads, 1) == 1)
		lifecycle_emit(EVENT_KIND_EXIT, thread->tgid, 0, task);
}

/*
 * Gives a thread its storage and starts its books. The one creator: called for living threads by
 * the iterator, and for new ones on fork. leftover_pointer: LEFTOVER_ANY if it may be in a context
 * that it has not set itself, 0 for a new thread, whose thread-local is NULL.
 */
static __always_inline void lifecycle_register_thread(struct task_struct *task, __u32 is_off_cpu,
						      __u32 off_reason, __u32 mode,
						      __u64 leftover_pointer)
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
	thread->leftover_pointer = leftover_pointer;
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
