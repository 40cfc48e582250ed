/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a trace for Perfetto (https://perfetto.dev), packet by packet. Each process has:
 * - a track for each thread, with its slices,
 * - a track for each request, or for each combination of keys of contexts without a request. Below
 *   it are tracks for each of its threads, or for each fiber if slices name it, with what it did
 *   for the request; and tracks with the thread's accounts by window, its long waits, and its
 *   fibers that kept the thread.
 * Wake-ups are flows. Categories tell sums apart: "thread", "request", "window", "stall", "hog".
 * Bounded memory.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "record/record_view.h"

enum {
	PERFETTO_TRACKS_MAX = 262144, /* 25 MB; with more, some are described twice */
};

struct perfetto_track;

struct perfetto {
	struct perfetto_track *tracks; /* uthash: tracks that are described */
	uint64_t flow_count;
	uint64_t seed; /* of the hash table */
	bool has_begun;
	bool has_slices; /* slices were printed */
	bool has_windows; /* windows were printed */
};

void perfetto_init(struct perfetto *perfetto);
void perfetto_deinit(struct perfetto *perfetto);

/* Prints a cpu, slice or stall record, and ignores other kinds. comm: of the record's process ({
 * NULL, 0 } = not known). 0, -ENOMEM. */
int perfetto_add(struct perfetto *perfetto, struct record_text comm,
		 const struct record_view *record, FILE *out);
