/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What changed between two recordings: of the requests of each group how many there were, and mean
 * and 99th percentile of CPU and wall time, each with a test of whether it changed (statistics.h).
 * The more is compared the more seems to change by chance: so all probabilities are corrected
 * together, and of recordings of the same the chance that anything is said to have changed is at
 * most 5 %.
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
	bool is_known; /* of both */
	int64_t before_ns;
	int64_t after_ns;
	bool is_tested; /* there were enough requests */
	struct difference difference;
	double corrected; /* the probability, of all that is tested */
};

struct diff_side {
	const struct group *group; /* NULL: there is none, or it is of all */
	const struct costs *costs; /* NULL: there is none */
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
	struct diff_row *rows; /* those that changed first, then by CPU; the last one is of all */
	size_t row_count;
	size_t tested_count; /* figures of all rows */
	size_t changed_count;
};

/* Of the first groupings, which are by the same keys. 0, -ENOMEM. Borrows both. */
int diff_init(struct diff *diff, const struct totals *before, const struct totals *after);
void diff_deinit(struct diff *diff);

/* Of the side that has one; NULL: the row is of all. */
const struct group *diff_group(const struct diff_row *row);
/* In either: names of what ran then want their host (grouping.h). */
bool diff_has_several_hosts(const struct diff *diff);
/* The number of requests that each side needs before a figure is tested. */
uint64_t diff_needed(enum diff_what what);
/* At 95 %, corrected. */
bool diff_has_changed(const struct diff_figure *figure);
/* "MORE", "LESS" or "no significant change": of a figure that was tested. */
const char *diff_verdict(const struct diff_figure *figure);
/* The figure that it is: a mean or a percentile of requests. */
const struct figure_info *diff_info(enum diff_what what);
