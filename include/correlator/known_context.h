/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contexts that a thread was charged to in its window, by the serials of their states: a state
 * is never changed, and its serial never used again (gem_abi.h), so nothing of it need be read a
 * second time. Pure: the kernel programs and the unit tests compile this same text. The caller
 * holds the thread's books.
 *
 * One place per serial, modulo KNOWN_CONTEXTS: what is overwritten is read again.
 */
#pragma once

#include <linux/types.h>

enum {
	KNOWN_CONTEXTS = 64 /* per thread; a power of two */
};

struct known_context {
	__u64 serial; /* 0 = none */
	__u64 hash;
	__u32 epoch; /* the window in which it has an account */
	__u32 reading; /* by which numbering of configurations and programs it was read */
};

_Static_assert(sizeof(struct known_context) == 24, "layout");

/* Notes that the context of this state was charged to. serial 0 notes nothing that is found. */
static inline void known_context_note(struct known_context known[KNOWN_CONTEXTS], __u64 serial,
				      __u64 hash, __u32 epoch, __u32 reading)
{
	struct known_context *place = &known[serial % KNOWN_CONTEXTS];

	place->serial = serial;
	place->hash = hash;
	place->epoch = epoch;
	place->reading = reading;
}

/* Returns the hash of the context of this state; 0 if it was not charged to in this window, or was
 * read otherwise. serial is not 0. */
static inline __u64 known_context_find(const struct known_context known[KNOWN_CONTEXTS],
				       __u64 serial, __u32 epoch, __u32 reading)
{
	const struct known_context *place = &known[serial % KNOWN_CONTEXTS];

	if (place->serial != serial || place->epoch != epoch || place->reading != reading)
		return 0;
	return place->hash;
}
