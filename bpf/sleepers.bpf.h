/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Determines whether threads that have slept since before they were observed sleep in a context.
 * They pass no boundary that could read it, and the flush's iterator cannot read another task's
 * memory. This one can, because it may sleep (since 5.18). A sleeping thread's pointer does not
 * change, so it is read once, before the flush that first charges the sleep.
 *
 * File-backed memory is not read: its file system may never answer, and the reader would wait for
 * it.
 */
#pragma once

#include "context.bpf.h"

static long note_file(struct task_struct *task, struct vm_area_struct *area, bool *ret_has_file)
{
	(void)task;
	*ret_has_file = area->vm_file != NULL;
	return 0;
}

static __always_inline long read_task(struct task_struct *task, __u64 address, __u64 *ret_word)
{
	bool has_file = true;

	if (bpf_find_vma(task, address, note_file, &has_file, 0) || has_file)
		return -1;
	return bpf_copy_from_user_task(ret_word, sizeof(*ret_word), (void *)address, task, 0);
}

/* True if the variable is not there (yet), or NULL; false if that cannot be determined. */
static __always_inline bool is_null(const struct tls_location *tls, struct task_struct *task)
{
	__u64 address = 0, pointer = 0;
	__u32 resolution = tls_locate_by(read_task, tls, task, &address);

	if (resolution == TLS_UNALLOCATED)
		return true;
	return resolution == TLS_RESOLVED && !read_task(task, address, &pointer) && !pointer;
}

static __always_inline bool is_in_no_context(struct task_struct *task, __u64 life)
{
	struct process_config *config = bpf_map_lookup_elem(&processes, &life);
	struct otel_config *otel;

	if (!config)
		return false;
	/* As context_locate(): nothing publishes the variable (yet). */
	if ((config->flags & PROCESS_READY) && !is_null(&config->tls, task))
		return false;
	if (!session.watches_otel || !(config->flags & PROCESS_HAS_OTEL))
		return true;
	otel = bpf_map_lookup_elem(&otel_processes, &life);
	return otel && is_null(&otel->tls, task);
}

/* Whether the thread has not run since it was registered. */
static __always_inline bool is_sleeper(const struct thread_state *thread)
{
	return thread->is_ready && thread->is_begun && !thread->is_worker &&
	       thread->clock.is_off_cpu && !thread->clock.last_cpu && !thread->origin_hash &&
	       (thread->knowledge == CONTEXT_UNKNOWN || thread->context_hash == CONTEXT_HASH_NONE);
}

PROGRAM("?iter.s/task")
int read_sleepers(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct thread_state *thread;
	bool is_free;

	if (!task)
		return 0;
	thread = bpf_task_storage_get(&threads, task, NULL, 0);
	if (!thread || !is_sleeper(thread))
		return 0;
	is_free = is_in_no_context(task, thread->life);
	if (!thread_try_hold(thread))
		return 0;
	/* If it woke up in the meantime, it reads its context itself. */
	if (is_sleeper(thread)) {
		thread->state_pointer = 0;
		thread->context_hash = CONTEXT_HASH_NONE;
		thread->knowledge = is_free ? CONTEXT_KNOWN : CONTEXT_UNKNOWN;
	}
	thread_release(thread);
	return 0;
}
