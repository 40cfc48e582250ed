/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slices between the kernel's ring and the records: kept until it is known which account their time
 * was charged to, and the window that it is of has ended.
 *
 *   slices_add       each that was read from the ring
 *   slices_settle    a window has ended: which are of it, and what is theirs in the end
 *   slices_each      those, in the order of their time
 *   slices_next      they are forgotten
 *
 * Bounded: what finds no room is counted. Pure, single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <correlator/timeline.h>

#include "base/cleanup.h"
#include "record/sched_state.h"

struct slices;

/* Room for so many, which is taken as it is needed. NULL: no memory. */
struct slices *slices_new(size_t max);
void slices_free(struct slices *slices);
DEFINE_CLEANUP(struct slices *, slices_free);

/* A session_slice_fn. Without room or memory it is lost. */
void slices_add(void *slices, const struct slice *slice);

/*
 * The window of that epoch has ended, and all its slices were added. Tells each of them what it was
 * charged to, and takes out of their running time what their account gave up. One whose charge was
 * not told is lost.
 */
void slices_settle(struct slices *slices, uint32_t epoch);

/* Those that were lost of a process since the last call; known from slices_settle() on. */
uint64_t slices_take_lost(struct slices *slices, uint64_t life);

enum {
	SLICE_PIECES_MAX = _SCHED_STATE_MAX, /* of a slice: one for each state */
};

/* What a slice was of its time: a record. CLOCK_MONOTONIC. */
struct slice_piece {
	const struct slice *slice;
	enum sched_state state;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t woken_by; /* of the first behind a sleep, as in struct slice; 0 = not known */
};

/*
 * Calls on_piece for each piece of the slices of the window that was settled, by start_ns; one that
 * returns another value than 0 ends it, and is returned. -ENOMEM.
 */
typedef int (*slices_fn)(void *user, const struct slice_piece *piece);
int slices_each(struct slices *slices, slices_fn on_piece, void *user);

/* Forgets those, and what was lost of whom nobody asked. */
void slices_next(struct slices *slices);
