/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Children of a request (correlator/origin.h): an exec in a context makes that context the origin
 * of the process. The origin is in force on its threads wherever they have no context of their own.
 * Without children session.has_children is a constant 0, and the verifier removes all of this.
 *
 * The caller holds the thread.
 */
#pragma once

#include "maps.bpf.h"

/* A forked process has its parent's origin, or none. */
static __always_inline void origin_inherit(__u64 parent_life, __u64 life)
{
	const struct origin *origin;

	if (!session.has_children)
		return;
	origin = bpf_map_lookup_elem(&origins, &parent_life);
	if (origin && bpf_map_update_elem(&origins, &life, origin, BPF_NOEXIST))
		count_loss(parent_life, COUNTER_PROCESSES_FULL);
}

/* Sets the origin of a thread that is being registered. */
static __always_inline void origin_register(struct thread_state *thread)
{
	const struct origin *origin;

	if (!session.has_children || thread->is_worker)
		return;
	origin = bpf_map_lookup_elem(&origins, &thread->life);
	thread->origin_hash = origin ? origin->hash : 0;
}

/* See origin_take(). Not VERIFIED_ONCE: before 6.2 a value that is a field of such a function's
 * argument is refused. */
static __noinline int origin_put(struct thread_state *thread)
{
	__u64 life = thread->life;

	thread->snapshot.family = thread->config.family;
	if (bpf_map_update_elem(&origins, &life, &thread->snapshot, BPF_ANY)) {
		count_loss(life, COUNTER_PROCESSES_FULL);
		return 0;
	}
	thread->origin_hash = thread->snapshot_hash;
	return 1;
}

/* The thread's process runs another program: the context in force becomes its origin. */
static __always_inline void origin_take(struct thread_state *thread)
{
	__u32 is_known = thread->knowledge != CONTEXT_UNKNOWN;

	if (!session.has_children || thread->is_worker)
		return;
	if (origin_is_new(is_known, thread->is_of_origin, thread->context_hash,
			  thread->snapshot_hash))
		(void)origin_put(thread);
	/* Time between its fork and here, if in an account that is still open, also counts as a
	 * child's. */
	if (is_known && thread->is_inherited && thread->context_hash == thread->origin_hash)
		thread->is_of_origin = 1;
}

/* After an exec: the new program has set no context yet, so the origin is in force. */
static __always_inline void origin_begin(struct thread_state *thread)
{
	if (!session.has_children || !thread->origin_hash)
		return;
	thread->context_hash = thread->origin_hash;
	thread->state_pointer = 0;
	thread->is_of_origin = 1;
	thread->is_inherited = 0;
	thread->is_unread = 0;
	thread->knowledge = CONTEXT_KNOWN;
}

/* The context of a thread whose own context has this hash: its origin if its own is none. */
static __always_inline __u64 origin_resolve(struct thread_state *thread, __u64 hash)
{
	if (!session.has_children)
		return hash;
	thread->is_of_origin = hash == CONTEXT_HASH_NONE && thread->origin_hash;
	return thread->is_of_origin ? thread->origin_hash : hash;
}

/*
 * Publishes the origin's snapshot in `contexts`, for a thread whose own snapshot is another one
 * (charge_publish_snapshot()). False: no space left.
 */
static __noinline int origin_publish(struct thread_state *thread, __u64 hash)
{
	__u64 life = thread->life;
	const struct origin *origin;

	if (bpf_map_lookup_elem(&contexts, &hash))
		return true;
	origin = bpf_map_lookup_elem(&origins, &life);
	if (origin && origin->hash == hash &&
	    share_has_room(&contexts_share, thread->config.family, session.contexts_max) &&
	    !bpf_map_update_elem(&contexts, &hash, &origin->snapshot, BPF_NOEXIST)) {
		share_add(&contexts_share, thread->config.family);
		return true;
	}
	/* Another thread may have been first. */
	if (bpf_map_lookup_elem(&contexts, &hash))
		return true;
	count_loss(life, COUNTER_CONTEXTS_FULL);
	return false;
}
