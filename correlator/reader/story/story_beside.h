/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds what else ran during a request, in one pass. Records of other activity may come before or
 * after the request's own, and its end is not known until the last one. So the latest spans of all
 * others are kept. A span is judged, which means its part within the request is added up, when
 * there are too many and it is the oldest, or at the end. Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "reader/story/story_threads.h"

enum {
	BESIDE_STRETCHES_MAX = 262144, /* 12 MB: seconds of slices, hours of windows */
	BESIDE_NEIGHBOURS_MAX = 32768, /* about 10 MB */
	BESIDE_TEXT_BYTES = 96, /* an id or endpoint, escaped and cut */
};

/* One thread in one context, or in none. */
struct neighbour {
	const struct story_thread *thread;
	char request_id[BESIDE_TEXT_BYTES]; /* "" = in no request */
	char endpoint[BESIDE_TEXT_BYTES]; /* "" = not known */
	int64_t cpu_ns; /* within the request's span; from slices, or from windows if the story has
			   none */
	bool is_at_most; /* cpu_ns is an upper bound: some windows extend beyond the span */
	int64_t ahead_ns; /* part of it on the CPU that the request was waiting for (slices only) */
	/* Bookkeeping: */
	int64_t window_cpu_ns;
	size_t span_count; /* spans not judged yet */
	uint64_t key[2]; /* thread; hash of request_id, or of endpoint outside requests */
	UT_hash_handle hh;
};

struct beside_span {
	struct neighbour *who;
	int64_t start_ns;
	int64_t end_ns;
	int64_t cpu_ns;
	int32_t cpu_number; /* -1 = not known */
	bool is_slice;
};

/* A time in which the request waited for a CPU, on which it ran next. */
struct beside_wait {
	const struct story_host *host;
	int64_t cpu_number;
	int64_t start_ns;
	int64_t end_ns;
	int64_t before_ns; /* total of earlier waits for this CPU; set by beside_finish */
};

struct beside {
	struct beside_span *spans; /* a ring once it has its maximum size */
	size_t span_count;
	size_t span_room;
	size_t oldest; /* index */
	struct neighbour *neighbours; /* uthash */
	uint64_t seed;
	bool is_full; /* some neighbour did not fit */
	int64_t judged_until_ns; /* activity before this was judged early, and may be missing; 0 =
				    none */
	int64_t judged_from_ns; /* the same for activity after this; INT64_MAX = none */
	const struct neighbour **ranking; /* set by beside_finish: by CPU, largest first */
	size_t ranking_count;
};

void beside_init(struct beside *beside);
void beside_deinit(struct beside *beside);

/* Adds a span in which thread ran, in a context with this request_id or, if empty, in none. Sets
 * its `who`. 0, -ENOMEM. */
int beside_add(struct beside *beside, const struct story_thread *thread,
	       struct record_text request_id, struct record_text endpoint, struct beside_span span);

/* After the last span: judges all that are left, by slices or by windows, and makes the ranking.
 * Sorts and merges waits. 0, -ENOMEM. */
int beside_finish(struct beside *beside, bool by_slices, struct beside_wait *waits,
		  size_t wait_count);

/* Whether some of what ran on this host during the request may be missing because there was too
 * much of it. */
bool beside_is_incomplete(const struct beside *beside, const struct story_host *host);
