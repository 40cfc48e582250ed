/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that come to be observed, and that are gone. */
#pragma once

#include "emit.bpf.h"
#include "hold.bpf.h"
#include "origin.bpf.h"

/*
 * The last switch-out of a thread: with the last one of a process, its books are complete. Once,
 * also if that switch and registration meet.
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
 * Gives a thread its storage, from when on its boundaries are written up. The one creator: called
 * for living threads by the iterator, and for new ones when they are made. inherited_pointer:
 * INHERITED_FIRST_READ if it may be in a context that it has not set itself, 0 for a new thread,
 * whose thread-local is NULL. Returns the thread, held; NULL: there is nothing (more) to do.
 *
 * Whether a thread that others run is on a CPU cannot be told for sure: a switch that is under way
 * may have passed our program before, and the scheduler's own state not yet. So its books are begun
 * by its next boundary, by the interrupt on its CPU, or, if after that round of interrupts neither
 * was, by the iterator: then it has been off the CPU all the time.
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
	/* A boundary of its own may have come before us. */
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
	/* Its last switch may have come before: both wrote, with a barrier, before they read. */
	if (task->__state & TASK_STATE_DEAD)
		registration_end(thread, task);
	return thread;
}
