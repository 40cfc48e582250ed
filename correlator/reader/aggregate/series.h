/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was used when, of a grouping that grouping_split_over_time split: a step for each window, or
 * for each so many seconds, and in it a cell for each group; and over all steps a line for each
 * group. Every cost of all steps adds up to that of totals, and so does that of a step's cells, its
 * unattributed time and its overflow to the step's. A step in which nothing ran is not there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reader/aggregate/grouping.h"
#include "reader/aggregate/totals.h"

/* What one group used in one step, or in all of them. */
struct series_cell {
	const struct group *group; /* one of it: its keys */
	struct costs costs;
	uint64_t request_count; /* that were in it last */
	size_t step; /* of a cell */
	size_t line; /* of a cell */
	int64_t peak_ns; /* of a line: the CPU of the step in which it used most */
};

struct series_step {
	struct grouping_span span;
	struct costs all;
	struct costs unattributed;
	struct costs overflow;
	uint64_t request_count;
	size_t cell_begin; /* its cells are those from there on, */
	size_t cell_end; /* to before this one */
};

struct series {
	const struct totals *totals;
	const struct grouping *grouping; /* the first of totals */
	struct series_step *steps; /* by time */
	size_t step_count;
	struct series_cell *cells; /* of each step by keys */
	size_t cell_count;
	struct series_cell *lines; /* by CPU, the most first */
	size_t line_count;
};

/* Steps of so long, at least as long as those of the grouping; 0: those of the grouping. 0,
 * -ENOMEM. Borrows totals. */
int series_init(struct series *series, const struct totals *totals, uint64_t step_ns);
void series_deinit(struct series *series);

/* A length for at most so many steps (> 1) that people count in, such as 10 s or 5 min; 0: there
 * are not more as it is. */
uint64_t series_choose_step(const struct series *series, size_t steps_max);
