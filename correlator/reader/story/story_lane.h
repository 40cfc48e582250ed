/* SPDX-License-Identifier: GPL-2.0-only */
/* What a screen shows of a story: lanes of characters, and which lines of a long list. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reader/story/story.h"

enum {
	STORY_LANE_CELLS_MAX = 1024,
	STORY_LANE_LEVELS = 8,
	STORY_LANE_CELL_BYTES = 4,
};

/* One thread from the story's first activity to its last, a character for each equal part. */
struct story_lane {
	size_t cell_count;
	const char *cells[STORY_LANE_CELLS_MAX]; /* static texts of one column each */
};

/* The length of a part where there is room for so many (>= 1); >= 1. */
int64_t story_lane_cell_ns(const struct story *story, size_t cells_max);

/* Whose a lane is: a thread's, or, of one that has several, a fiber's. */
struct story_lane_owner {
	const struct story_thread *thread;
	int64_t fiber; /* 0: what is known to be of none */
};

/*
 * All of the request's, by thread (story_thread_compare) and fiber. ret_owners is to be freed;
 * what it names lives as long as the story. 0, -ENOMEM.
 */
int story_lane_owners(const struct story *story, struct story_lane_owner **ret_owners,
		      size_t *ret_count);

/* By slices: what its owner did for the longest time in each part. cells_max: 1 to
 * STORY_LANE_CELLS_MAX. */
void story_lane_of_slices(const struct story *story, const struct story_lane_owner *owner,
			  size_t cells_max, struct story_lane *ret_lane);

/* By windows: how much of its span in the window it was on a CPU, as a height. */
void story_lane_of_windows(const struct story *story, const struct story_thread *thread,
			   size_t cells_max, struct story_lane *ret_lane);

/* What a lane of slices shows a state as. */
const char *story_lane_symbol(enum sched_state state);

/* Of a list, some that follow each other: one that is shown, or several that are summed up. */
struct story_lines {
	size_t first;
	size_t count;
};

/*
 * Which of so many things a list shows: all, or of more than 2 * shown_max (> 0) the shown_max that
 * weigh most, and those between them in lines of several. ret_lines has room for all: count.
 * Returns how many lines there are; 0 = all. -ENOMEM.
 */
int story_fold(const int64_t *weights, size_t count, size_t shown_max,
	       struct story_lines *ret_lines, size_t *ret_line_count);
