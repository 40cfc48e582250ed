/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes whose records wait: how much of each waits, and how much was lost. All that waits,
 * divided by the processes that have something waiting, is a share: a process that waits with less
 * loses nothing for those that wait with more. Pid 0 is nobody known, such as in what an earlier
 * correlator left in a spool. Under the backlog's lock. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "recorder/queue/gap.h"

enum {
	/* Lanes for processes that wait with much; of more than these several have one together.
	 * Lane 0 is for all others. */
	SHARES_LANES = 33,
	/* Processes that have nothing waiting and nothing to tell, but lost something once: of more
	 * than these the one that is so for the longest is forgotten, and its counter begins anew.
	 */
	SHARES_REMEMBERED_MAX = 1024,
};

struct share {
	UT_hash_handle hh;
	struct share *prev,
		*next; /* utlist: of those with something to tell, or of the remembered */
	uint32_t pid;
	uint64_t queued_bytes;
	unsigned int lane;
	uint64_t dropped_records; /* since the start, or since it was forgotten */
	struct gap gap; /* what is not told yet */
	/* The queue's own: where the newest of its records are. */
	uint64_t segment_order;
	size_t segment_part;
};

struct shares {
	struct share *by_pid; /* uthash; without nobody */
	struct share nobody; /* pid 0, and those for whom there was no memory */
	struct share
		*untold; /* utlist: with something to tell; the first to lose something first */
	struct share *remembered; /* utlist: with nothing but dropped_records; the longest first */
	size_t remembered_count;
	uint64_t queued_bytes; /* all */
	size_t count; /* of those that have something waiting */
	unsigned int lane_users[SHARES_LANES]; /* but of lane 0 */
	unsigned int lanes_in_use; /* but lane 0 */
};

/* NULL: nothing of it waits, and nothing was lost. A share is valid as long as something of it
 * waits; else until something is taken or told. */
struct share *shares_find(struct shares *shares, uint32_t pid);
/* The same, and makes it: NULL without memory. */
struct share *shares_get(struct shares *shares, uint32_t pid);

/* More of it waits, or less. With nothing waiting it is in lane 0. */
void shares_add(struct shares *shares, struct share *share, uint64_t size_bytes);
void shares_take(struct shares *shares, struct share *share, uint64_t size_bytes);

/* It waits with more than its share. */
bool shares_is_above(const struct shares *shares, const struct share *share);

/* Gives one that waits a lane apart from the others, with as few as can be; or takes it back. */
void shares_part(struct shares *shares, struct share *share);
void shares_join(struct shares *shares, struct share *share);

/* Counts what was lost. */
void shares_lose(struct shares *shares, uint32_t pid, const struct gap *lost);
/* Takes the losses of one process that were not told yet; ret_gap has its pid, and all that it
 * lost, if it is known. False: there are no more. */
bool shares_take_gap(struct shares *shares, struct gap *ret_gap);

void shares_deinit(struct shares *shares);
