/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes between two recordings: for the requests of each group their number, and mean and 99th
 * percentile of CPU and wall time, each with a test of whether it changed (statistics.h). The more
 * is compared, the more seems to change by chance: so all probabilities are corrected together, and
 * for two recordings of the same workload the chance that any change is reported is at most 5 %.
 */
#pragma once

#include <stddef.h>

#include "figures/figure.h"
#include "reader/aggregate/statistics.h"
#include "reader/aggregate/totals.h"

enum diff_what {
	DIFF_CPU_MEAN = 0,
	DIFF_CPU_P99 = 1,
	DIFF_WALL_MEAN = 2,
	DIFF_WALL_P99 = 3,
	_DIFF_MAX,
};

struct diff_figure {
	bool is_known; /* on both sides */
	int64_t before_ns;
	int64_t after_ns;
	bool is_tested; /* both sides had enough requests */
	struct difference difference;
	double corrected; /* the probability, corrected for all tests */
};

struct diff_side {
	const struct group *group; /* NULL: none, or the total row */
	const struct costs *costs; /* NULL: none */
	uint64_t request_count;
};

struct diff_row {
	struct diff_side before;
	struct diff_side after;
	struct diff_figure figures[_DIFF_MAX];
};

struct diff {
	const struct totals *before;
	const struct totals *after;
	struct diff_row *rows; /* changed rows first, then by CPU; the last row is the total */
	size_t row_count;
	size_t tested_count; /* tested figures of all rows */
	size_t changed_count;
};

/* Compares the first groupings of both, which must be by the same keys. Returns 0, -ENOMEM. Borrows
 * both. */
int diff_init(struct diff *diff, const struct totals *before, const struct totals *after);
void diff_deinit(struct diff *diff);

/* Returns the group of a side that has one; NULL for the total row. */
const struct group *diff_group(const struct diff_row *row);
/* Whether either recording has several hosts: names of what ran are then shown with their host
 * (grouping.h). */
bool diff_has_several_hosts(const struct diff *diff);
/* The number of requests that each side needs before a figure is tested. */
uint64_t diff_needed(enum diff_what what);
/* At the 95 % level, after correction. */
bool diff_has_changed(const struct diff_figure *figure);
/* "MORE", "LESS" or "no significant change", for a figure that was tested. */
const char *diff_verdict(const struct diff_figure *figure);
/* The underlying figure: a mean or a percentile of requests. */
const struct figure_info *diff_info(enum diff_what what);
