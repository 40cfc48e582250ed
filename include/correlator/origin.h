/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The origin of a process: the context in which it was started, by an exec inside a request. What
 * it does in no context of its own belongs to its origin, until it ends; so it is with its threads
 * and with the processes that it forks. Pure.
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
 * True: a thread that runs another program was in a context of its own, which the snapshot of that
 * hash is of, and which is the origin from then on. False: the process keeps the origin that it
 * has, or has none. is_known: which context was in force. is_of_origin: it was the origin already.
 */
static inline int origin_is_new(__u32 is_known, __u32 is_of_origin, __u64 context_hash,
				__u64 snapshot_hash)
{
	if (!is_known || is_of_origin || snapshot_hash < CONTEXT_HASH_FIRST)
		return 0;
	/* That there was no room for its account does not change whose it is. */
	return context_hash == snapshot_hash || context_hash == CONTEXT_HASH_OVERFLOW;
}
