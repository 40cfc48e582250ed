/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Usage over time, of a grouping that grouping_split_over_time split: a step per window, or per
 * step_ns; in each step a cell per group; and over all steps a line per group. For each cost, all
 * steps add up to totals, and a step's cells, unattributed time and overflow to the step. Steps in
 * which nothing ran are omitted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reader/aggregate/grouping.h"
#include "reader/aggregate/totals.h"

/* Usage of one group in one step, or in all of them. */
struct series_cell {
	const struct group *group; /* any with its keys */
	struct costs costs;
	uint64_t request_count; /* requests that ended in it */
	size_t step; /* of a cell: index of its step */
	size_t line; /* of a cell: index of its line */
	int64_t peak_ns; /* of a line: CPU of its busiest step */
};

struct series_step {
	struct grouping_span span;
	struct costs all;
	struct costs unattributed;
	struct costs overflow;
	uint64_t request_count;
	size_t cell_begin; /* index of its first cell, */
	size_t cell_end; /* and past its last cell */
};

struct series {
	const struct totals *totals;
	const struct grouping *grouping; /* the first one of totals */
	struct series_step *steps; /* by time */
	size_t step_count;
	struct series_cell *cells; /* by step, then by keys */
	size_t cell_count;
	struct series_cell *lines; /* by CPU, highest first */
	size_t line_count;
};

/* step_ns: step length, at least the grouping's; 0 means the grouping's. Returns 0, -ENOMEM.
 * Borrows totals. */
int series_init(struct series *series, const struct totals *totals, uint64_t step_ns);
void series_deinit(struct series *series);

/* Chooses a round step length, such as 10 s or 5 min, that gives at most steps_max (> 1) steps.
 * Returns 0 if there are no more than that already. */
uint64_t series_choose_step(const struct series *series, size_t steps_max);
