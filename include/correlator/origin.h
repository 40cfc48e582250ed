/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The origin of a process: the context in which it was started, by an exec inside a request. Time
 * that it spends in no context of its own belongs to its origin, until it ends. The same is true of
 * its threads and of the processes that it forks. Pure.
 */
#pragma once

#include <correlator/snapshot.h>

/* Value of the map `origins`, by life. A forked child has its parent's. */
struct origin {
	struct context_snapshot snapshot;
	__u64 hash; /* of the snapshot; never below CONTEXT_HASH_FIRST */
};

_Static_assert(sizeof(struct origin) == sizeof(struct context_snapshot) + 8, "layout");

/*
 * At an exec. True: the thread was in a context of its own, whose snapshot has snapshot_hash; that
 * is the origin from then on. False: the process keeps its origin, or has none. is_known: the
 * context in force is known. is_of_origin: that context already was the origin.
 */
static inline int origin_is_new(__u32 is_known, __u32 is_of_origin, __u64 context_hash,
				__u64 snapshot_hash)
{
	if (!is_known || is_of_origin || snapshot_hash < CONTEXT_HASH_FIRST)
		return 0;
	/* Overflow: a context without room for its account is still the same context. */
	return context_hash == snapshot_hash || context_hash == CONTEXT_HASH_OVERFLOW;
}
