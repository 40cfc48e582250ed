/* SPDX-License-Identifier: GPL-2.0-only */
/* A story on a screen: lanes of characters, and which lines of a long list to show. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reader/story/story.h"

enum {
	STORY_LANE_CELLS_MAX = 1024,
	STORY_LANE_LEVELS = 8,
	STORY_LANE_CELL_BYTES = 4,
};

/* One thread from the story's first activity to its last; each character is an equal part of it. */
struct story_lane {
	size_t cell_count;
	const char *cells[STORY_LANE_CELLS_MAX]; /* static texts of one column each */
};

/* The length of a cell in ns (>= 1), so that at most cells_max (>= 1) cover the story. */
int64_t story_lane_cell_ns(const struct story *story, size_t cells_max);

/* The owner of a lane: a thread or, if the thread has several, one fiber. */
struct story_lane_owner {
	const struct story_thread *thread;
	int64_t fiber; /* 0: slices without a known fiber */
};

/*
 * All lanes of the request, sorted by thread (story_thread_compare) and fiber. The caller frees
 * *ret_owners; the threads in it live as long as the story. 0, -ENOMEM.
 */
int story_lane_owners(const struct story *story, struct story_lane_owner **ret_owners,
		      size_t *ret_count);

/* From slices: each cell shows the state that the owner was in for the longest time in it.
 * cells_max: 1 to STORY_LANE_CELLS_MAX. */
void story_lane_of_slices(const struct story *story, const struct story_lane_owner *owner,
			  size_t cells_max, struct story_lane *ret_lane);

/* From windows: each cell's height is the part of the thread's span in the window that it was on a
 * CPU. */
void story_lane_of_windows(const struct story *story, const struct story_thread *thread,
			   size_t cells_max, struct story_lane *ret_lane);

/* The character for a state in a lane of slices. */
const char *story_lane_symbol(enum sched_state state);

/* Consecutive entries of a list: one that is shown, or several that are summed up. */
struct story_lines {
	size_t first;
	size_t count;
};

/*
 * Chooses which of count entries a list shows. If shown_max is 0 or count is at most 2 * shown_max,
 * all of them; otherwise the shown_max with the largest weights, and each run between them as one
 * line. ret_lines has room for count lines. 0, -ENOMEM.
 */
int story_fold(const int64_t *weights, size_t count, size_t shown_max,
	       struct story_lines *ret_lines, size_t *ret_line_count);
