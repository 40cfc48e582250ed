/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stints between the kernel's ring and the records: kept until it is known which account their time
 * was charged to, and their window has ended; then cut into slices.
 *
 *   stints_add       adds a stint read from the ring
 *   stints_settle    at the end of a window: selects its stints, and corrects their time
 *   stints_each      visits their slices, ordered by time
 *   stints_next      drops them
 *
 * Bounded: stints that do not fit are counted. Pure, single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <correlator/timeline.h>

#include "base/cleanup.h"
#include "record/sched_state.h"

struct stints;

/* Holds up to max stints; memory grows on demand. NULL: no memory. */
struct stints *stints_new(size_t max);
void stints_free(struct stints *stints);
DEFINE_CLEANUP(struct stints *, stints_free);

/* A session_stint_fn. Without room or memory the stint is lost. */
void stints_add(void *stints, const struct stint *stint);

/*
 * Call when the window of this epoch has ended, and all its stints were added. Sets what each stint
 * was charged to, and deducts from its running time what its account gave back. A stint whose
 * charge was not reported is lost.
 */
void stints_settle(struct stints *stints, uint32_t epoch);

/* Number of stints of a process lost since the last call; complete after stints_settle(). */
uint64_t stints_take_lost(struct stints *stints, uint64_t life);

enum {
	STINT_SLICES_MAX = _SCHED_STATE_MAX, /* per stint: one for each state */
};

/* The part of a stint in one state: a record. Times are CLOCK_MONOTONIC. */
struct slice {
	const struct stint *stint;
	enum sched_state state;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t woken_by; /* in the first slice after a sleep, as in struct stint; 0 = not known */
};

/*
 * Calls on_slice for each slice of the stints of the settled window, ordered by start_ns. A
 * non-zero return value of on_slice ends the walk, and is returned. -ENOMEM.
 */
typedef int (*stints_fn)(void *user, const struct slice *slice);
int stints_each(struct stints *stints, stints_fn on_slice, void *user);

/* Drops the settled stints, and the losses that were not taken. */
void stints_next(struct stints *stints);
