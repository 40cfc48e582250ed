/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contexts that accounts were charged to, decoded: hash -> texts of the keys. Bounded: contexts
 * that accounts no longer name are forgotten. Pure; single thread.
 *
 * A context is stored in two places. Its snapshot is in the kernel's map: the boundary that opens
 * an account for it puts it there, or sees that it is there. Its texts are here: the first drain
 * that finds it named takes the snapshot and decodes it. Removing a snapshot races with a boundary
 * that has just seen it and relies on it, so a context is forgotten in two steps:
 *
 *   NAMED      by the last drain. Accounts that are opened for it may or may not find a snapshot.
 *     |        A drain does not name it: the snapshot is removed.
 *   RETIRED    New accounts make a new snapshot. Accounts that relied on the old one may still
 *     |        come: one that does makes it NAMED again.
 *     |        Both maps of accounts were drained since, and it was not named.
 *   forgotten  Nothing relies on the old snapshot any more. A new one is left where it is: its
 *              account is in the open window, whose drain takes it.
 *
 * Both maps, because an exiting thread may charge to the window before the open one. Their drains
 * are enough, because a window is drained only when every CPU was interrupted and every thread has
 * released its books: by then every boundary that had seen the snapshot has opened its account.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/limits.h>

#include "base/cleanup.h"

struct context {
	uint64_t hash;
	const char *const *values; /* by key; NULL = the context has no such key */
	uint64_t late_hash; /* of the snapshot with its late values; 0 = none arrived */
	uint64_t texts_digest; /* of the values; different values may collide, though rarely */
	bool is_truncated; /* a value was longer than was captured */
	uint64_t last_window; /* number of the last window that named it */
};

struct context_table;

struct context_table *context_table_new(void); /* NULL: no memory */
void context_table_free(struct context_table *table);
DEFINE_CLEANUP(struct context_table *, context_table_free);

/* The context, marked as named in this window; NULL = unknown. Valid until it is forgotten. */
const struct context *context_table_find(struct context_table *table, uint64_t hash,
					 uint64_t window);

/* Likewise, without marking it. */
const struct context *context_table_look(struct context_table *table, uint64_t hash);

/*
 * Adds a context, or replaces the one with its hash. Copies its value_count values (at most
 * KEYS_MAX), and computes texts_digest. 0 or -ENOMEM.
 */
int context_table_add(struct context_table *table, const struct context *context,
		      size_t value_count);

typedef void (*context_retired_fn)(void *user, uint64_t hash);

/*
 * Call after the drain of each window with its number. Calls on_retired, which must remove the
 * snapshot, once for each context that the window did not name; forgets contexts that were retired
 * two drains ago. Window numbers are consecutive.
 */
void context_table_end_window(struct context_table *table, uint64_t window,
			      context_retired_fn on_retired, void *user);

size_t context_table_count(const struct context_table *table);
