/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What else ran while a request did. When its record comes, those of what ran beside it may have
 * come already, or come later, and how long it goes on is not known: so the last spans of all
 * others are kept, and judged when they are the oldest of too many, or at the end. Nothing has to
 * be read twice. Single thread; nothing here logs.
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
	BESIDE_TEXT_BYTES = 96, /* of an id or an endpoint, escaped and cut */
};

/* One thread in one context, or in none. */
struct neighbour {
	const struct story_thread *thread;
	char request_id[BESIDE_TEXT_BYTES]; /* "" = in none */
	char endpoint[BESIDE_TEXT_BYTES]; /* "" = not known */
	int64_t cpu_ns; /* in the request's span, by its slices or, where the story has none, */
	bool is_at_most; /* by windows, of which some reach out of the span: at most so much */
	int64_t ahead_ns; /* of it, on the CPU that the request was waiting for (slices only) */
	/* How it is kept: */
	int64_t window_cpu_ns;
	size_t span_count; /* that are not judged yet */
	uint64_t key[2]; /* of the thread and the request_id */
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

/* A time in which the request waited for a CPU, and which it then got. */
struct beside_wait {
	const struct story_host *host;
	int64_t cpu_number;
	int64_t start_ns;
	int64_t end_ns;
	int64_t before_ns; /* waited for it in all before this one: beside_finish fills it */
};

struct beside {
	struct beside_span *spans; /* a ring when it has grown to its maximum */
	size_t span_count;
	size_t span_room;
	size_t oldest; /* index */
	struct neighbour *neighbours; /* uthash */
	uint64_t seed;
	bool is_full; /* some neighbour found no room */
	int64_t judged_until_ns; /* what ran before it was judged, and may be missed; 0 = none */
	int64_t judged_from_ns; /* the same, what ran after it; INT64_MAX = none */
	const struct neighbour **ranking; /* beside_finish: by CPU, most first */
	size_t ranking_count;
};

void beside_init(struct beside *beside);
void beside_deinit(struct beside *beside);

/* That something ran on the thread, in a context with this request_id, or none. The span's
 * `who` is filled here. 0, -ENOMEM. */
int beside_add(struct beside *beside, const struct story_thread *thread,
	       struct record_text request_id, struct record_text endpoint, struct beside_span span);

/* After the last one: judges all that is left, by slices or by windows, and makes the ranking.
 * waits are sorted here. 0, -ENOMEM. */
int beside_finish(struct beside *beside, bool by_slices, struct beside_wait *waits,
		  size_t wait_count);

/* Some of what ran while the request did on this host may be missing: there was too much of it. */
bool beside_is_incomplete(const struct beside *beside, const struct story_host *host);
