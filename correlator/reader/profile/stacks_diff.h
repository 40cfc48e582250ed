/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What changed between two recordings with stacks: of each method the mean CPU of a request in it,
 * or what it waited there, itself and with all that it called, and a test of whether it changed
 * (statistics.h), all corrected together as in diff.h. Of CPU a request counts with what its
 * samples stand for, and with nothing where it has none: of requests that are shorter than the time
 * between samples only some are seen, and these stand for the others. Methods are the same if name,
 * file, first line and kind are. Owns its texts.
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
	/* In fewer requests of both recordings than that, a method is not tested. */
	STACKS_DIFF_SEEN_MIN = 10
};

/* All that a mean is tested by: a histogram's buckets of a million methods would be gigabytes. */
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
	struct stacks_diff_values values[2][_STACKS_DIFF_MAX]; /* of requests before and after */
	int64_t of_request_ns[_STACKS_DIFF_MAX]; /* while it is added up */
	struct stacks_diff_row *next_seen;
	uint64_t last_request;
	uint64_t last_place;
};

struct stacks_diff {
	struct frames texts; /* only these, of both */
	struct stacks_diff_row *rows; /* uthash: those that changed first, then by change */
	struct diff_figure spent; /* of a request, exact; corrected with the others */
	enum stacks_measure measure;
	uint64_t requests[2];
	uint64_t samples[2]; /* or waits */
	size_t tested_count;
	size_t changed_count;
	uint64_t seed;
};

/* Both of one measure, and after stacks_finish; they are not needed afterwards. 0, -ENOMEM. */
int stacks_diff_init(struct stacks_diff *diff, const struct stacks *before,
		     const struct stacks *after);
void stacks_diff_deinit(struct stacks_diff *diff);
