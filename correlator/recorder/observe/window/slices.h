/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slices between the kernel's ring and the records: kept until it is known which account their time
 * was charged to, and their window has ended.
 *
 *   slices_add       adds a slice read from the ring
 *   slices_settle    at the end of a window: selects its slices, and corrects their time
 *   slices_each      visits them, ordered by time
 *   slices_next      drops them
 *
 * Bounded: slices that do not fit are counted. Pure, single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <correlator/timeline.h>

#include "base/cleanup.h"
#include "record/sched_state.h"

struct slices;

/* Holds up to max slices; memory grows on demand. NULL: no memory. */
struct slices *slices_new(size_t max);
void slices_free(struct slices *slices);
DEFINE_CLEANUP(struct slices *, slices_free);

/* A session_slice_fn. Without room or memory the slice is lost. */
void slices_add(void *slices, const struct slice *slice);

/*
 * Call when the window of this epoch has ended, and all its slices were added. Sets what each slice
 * was charged to, and deducts from its running time what its account gave back. A slice whose
 * charge was not reported is lost.
 */
void slices_settle(struct slices *slices, uint32_t epoch);

/* Number of slices of a process lost since the last call; complete after slices_settle(). */
uint64_t slices_take_lost(struct slices *slices, uint64_t life);

enum {
	SLICE_PIECES_MAX = _SCHED_STATE_MAX, /* per slice: one for each state */
};

/* The part of a slice in one state: a record. Times are CLOCK_MONOTONIC. */
struct slice_piece {
	const struct slice *slice;
	enum sched_state state;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t woken_by; /* in the first piece after a sleep, as in struct slice; 0 = not known */
};

/*
 * Calls on_piece for each piece of the slices of the settled window, ordered by start_ns. A
 * non-zero return value of on_piece ends the walk, and is returned. -ENOMEM.
 */
typedef int (*slices_fn)(void *user, const struct slice_piece *piece);
int slices_each(struct slices *slices, slices_fn on_piece, void *user);

/* Drops the settled slices, and the losses that were not taken. */
void slices_next(struct slices *slices);
