/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A trace for Perfetto (https://perfetto.dev), packet by packet. Of each process: a track for each
 * thread, with its slices; and one for each request, or for each combination of keys of what
 * ran in none, with a track below it for each of its threads, or for each fiber where slices say
 * which: what it did for it; and, on more of them, what the thread's accounts say by window.
 * Wake-ups are flows. Categories tell sums apart: "thread", "request", "window". Bounded memory.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "record/record_view.h"

enum {
	PERFETTO_TRACKS_MAX = 262144, /* 25 MB: of more, some are described twice */
};

struct perfetto_track;

struct perfetto {
	struct perfetto_track *tracks; /* uthash: those that are described */
	uint64_t flow_count;
	uint64_t seed; /* of the table */
	bool has_begun;
	bool has_slices; /* some were printed, */
	bool has_windows; /* and some of these */
};

void perfetto_init(struct perfetto *perfetto);
void perfetto_deinit(struct perfetto *perfetto);

/* Prints nothing of records other than cpu and slice. comm: of its process ({ NULL, 0 } = not
 * known). 0, -ENOMEM. */
int perfetto_add(struct perfetto *perfetto, struct record_text comm,
		 const struct record_view *record, FILE *out);
