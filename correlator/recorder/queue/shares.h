/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Per process: how much is queued, and how much was lost. A share is all queued bytes divided by
 * the number of processes with queued bytes: a process with less than that loses nothing for those
 * with more. Pid 0 stands for unknown processes, as in segments that an earlier correlator left in
 * a spool. Under the backlog's lock. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "recorder/queue/gap.h"

enum {
	/* Lanes for processes with much queued; if there are more processes than lanes, several
	 * share one. Lane 0 is for all others. */
	SHARES_LANES = 33,
	/* Limit of processes with nothing queued and nothing to report that lost something before.
	 * Beyond it the one idle for longest is forgotten, and its counter restarts at 0. */
	SHARES_REMEMBERED_MAX = 1024,
};

struct share {
	UT_hash_handle hh;
	struct share *prev, *next; /* utlist: of untold or of remembered */
	uint32_t pid;
	uint64_t queued_bytes;
	unsigned int lane;
	uint64_t dropped_records; /* since the start, or since it was forgotten */
	struct gap gap; /* not reported yet */
	/* Set by the queue: where the newest of the process's records are. */
	uint64_t segment_order;
	size_t segment_part;
};

struct shares {
	struct share *by_pid; /* uthash; does not contain `nobody` */
	struct share nobody; /* pid 0, and processes for which allocation failed */
	struct share *untold; /* utlist: with a gap to report; the first to lose records is first */
	struct share *remembered; /* utlist: only dropped_records is set; longest idle first */
	size_t remembered_count;
	uint64_t queued_bytes; /* of all processes */
	size_t count; /* processes with queued bytes */
	unsigned int lane_users[SHARES_LANES]; /* except lane 0 */
	unsigned int lanes_in_use; /* except lane 0 */
};

/* NULL: the process has nothing queued, and lost nothing. A share is valid while it has queued
 * bytes; without, until the next shares_take or shares_take_gap. */
struct share *shares_find(struct shares *shares, uint32_t pid);
/* The same, but makes a missing share. NULL: no memory. */
struct share *shares_get(struct shares *shares, uint32_t pid);

/* Adds to or subtracts from the queued bytes. At 0 bytes the share returns to lane 0. */
void shares_add(struct shares *shares, struct share *share, uint64_t size_bytes);
void shares_take(struct shares *shares, struct share *share, uint64_t size_bytes);

/* True if the process has more queued than its share. */
bool shares_is_above(const struct shares *shares, const struct share *share);

/* shares_part moves a share with queued bytes to the lane, except 0, with the fewest processes;
 * shares_join moves it back to lane 0. */
void shares_part(struct shares *shares, struct share *share);
void shares_join(struct shares *shares, struct share *share);

/* Counts a loss. */
void shares_lose(struct shares *shares, uint32_t pid, const struct gap *lost);
/* Takes the unreported losses of one process. If the process is known, ret_gap has its pid and its
 * total. False: there are no more. */
bool shares_take_gap(struct shares *shares, struct gap *ret_gap);

void shares_deinit(struct shares *shares);
