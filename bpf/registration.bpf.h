/* SPDX-License-Identifier: GPL-2.0-only */
/* Beginning and end of a thread's observation. */
#pragma once

#include "emit.bpf.h"
#include "hold.bpf.h"
#include "origin.bpf.h"

/*
 * Ends the observation of a thread, at its last switch-out: after the last thread of a process, its
 * books are complete. Runs once, even if that switch and registration race.
 */
static __always_inline void registration_end(struct thread_state *thread, struct task_struct *task)
{
	struct process_books *process = bpf_map_lookup_elem(&books, &thread->life);

	if (!__sync_lock_test_and_set(&thread->is_ready, 0))
		return;
	if (thread->is_leaving)
		__sync_fetch_and_sub(&leaving_threads, 1);
	if (process && __sync_fetch_and_sub(&process->live_threads, 1) == 1)
		emit_event(EVENT_KIND_EXIT, thread, task, 0);
}

static __always_inline void registration_fill(struct thread_state *thread, struct task_struct *task,
					      __u64 life, __u64 inherited_pointer)
{
	thread->tid = identity_tid(task);
	thread->ns_tid = identity_ns_tid(task);
	thread->inherited_pointer = inherited_pointer;
	thread->tgid = identity_tgid(task);
	thread->life = life;
	thread->serial = serial_number();
	thread->generation = generation - 1; /* its first boundary takes the configuration */
	thread->memory = (__u64)task->mm;
	thread->is_worker = compat_is_user_worker(task);
	if (thread->is_worker) {
		thread->context_hash = CONTEXT_HASH_NONE;
		thread->knowledge = CONTEXT_KNOWN;
	}
	origin_register(thread);
}

/*
 * Gives a thread its storage; from then on its boundaries are written up. The only creator: called
 * for living threads by the iterator, and for new ones when they are made. inherited_pointer:
 * INHERITED_FIRST_READ if the thread may be in a context that it has not set itself, 0 for a new
 * thread, whose thread-local is NULL. Returns the thread, held; NULL = nothing (more) to do.
 *
 * Whether another thread is on a CPU cannot be determined for sure: a switch in progress may have
 * passed our program before, but not yet have updated the scheduler's own state. So the books are
 * begun by the thread's next boundary, by the interrupt on its CPU, or, if that round of interrupts
 * passed without either, by the iterator: the thread has then been off the CPU all the time.
 */
static __always_inline struct thread_state *registration_begin(struct task_struct *task, __u64 life,
							       __u64 inherited_pointer)
{
	const struct process_config *config;
	struct process_books *process;
	struct thread_state *thread;

	if (task->__state & TASK_STATE_DEAD)
		return NULL;
	thread = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		count_loss(life, COUNTER_STORAGE_FAILED);
		return NULL;
	}
	if (thread->is_begun || !thread_try_hold(thread))
		return NULL;
	/* One of its own boundaries may have begun the books first. */
	if (thread->is_begun) {
		thread_release(thread);
		return NULL;
	}
	if (thread->is_ready)
		return thread;
	registration_fill(thread, task, life, inherited_pointer);
	config = bpf_map_lookup_elem(&processes, &life);
	if (config)
		thread->config.family = config->family;
	process = bpf_map_lookup_elem(&books, &life);
	if (process) {
		thread->image = process->image;
		__sync_fetch_and_add(&process->live_threads, 1);
	}
	(void)__sync_lock_test_and_set(&thread->is_ready, 1);
	(void)__sync_fetch_and_add(&registrations, 1);
	/* Its last switch may have come first: both sides write before they read, with a barrier
	 * in between. */
	if (task->__state & TASK_STATE_DEAD)
		registration_end(thread, task);
	return thread;
}
