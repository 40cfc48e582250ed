/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes between two recordings with stacks. For each method it compares the mean CPU that a
 * request used in it, or the mean time that a request waited in it, itself and including all that
 * it called; and tests each change (statistics.h), all corrected together as in diff.h.
 *
 * A request's CPU in a method is what its samples stand for, and 0 if it has none: of requests
 * shorter than the time between samples only some are sampled, and these stand for the others.
 * Methods are the same if name, file, first line and kind are. Owns its texts.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reader/aggregate/diff.h"
#include "reader/profile/stack_methods.h"
#include "reader/profile/stacks.h"

enum stacks_diff_what {
	STACKS_DIFF_SELF = 0,
	STACKS_DIFF_TOTAL = 1,
	_STACKS_DIFF_MAX,
};

enum {
	/* A method is tested if at least this many requests of both recordings together were seen
	 * in it. */
	STACKS_DIFF_SEEN_MIN = 10
};

/* The moments that a test of means needs. Histogram buckets of a million methods would take
 * gigabytes. */
struct stacks_diff_values {
	uint64_t count;
	int64_t sum;
	unsigned __int128 squares;
	long double cubes;
};

struct stacks_diff_row {
	UT_hash_handle hh;
	struct stack_method_key key;
	struct diff_figure figures[_STACKS_DIFF_MAX];
	struct stacks_diff_values values[2][_STACKS_DIFF_MAX]; /* over requests, before and after */
	int64_t of_request_ns[_STACKS_DIFF_MAX]; /* the current request's sums */
	struct stacks_diff_row *next_seen;
	uint64_t last_request;
	uint64_t last_place;
};

struct stacks_diff {
	struct frames texts; /* holds the texts of both recordings only */
	struct stacks_diff_row *rows; /* uthash: changed ones first, then by size of change */
	struct diff_figure spent; /* mean of a request, exact; corrected with the others */
	enum stacks_measure measure;
	uint64_t requests[2];
	uint64_t samples[2]; /* or waits */
	size_t tested_count;
	size_t changed_count;
	uint64_t seed;
};

/* After stacks_finish of both, which have the same measure. They are not needed afterwards. 0,
 * -ENOMEM. */
int stacks_diff_init(struct stacks_diff *diff, const struct stacks *before,
		     const struct stacks *after);
void stacks_diff_deinit(struct stacks_diff *diff);
