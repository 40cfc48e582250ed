/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lines of a report in display order: groups, then the time that belongs to no group (if the
 * groups leave any), then the total. The same for every format.
 */
#pragma once

#include <stddef.h>

#include "figures/figure.h"
#include "reader/aggregate/grouping.h"
#include "reader/aggregate/totals.h"

/* The unit of shares and rates: parts small enough to be rounded once more. */
enum {
	ROWS_PARTS = 1000000000
};

enum {
	ROWS_FOLD_AT = 8192,
	ROWS_KEPT_MIN = 2048, /* groups by value, which may still grow */
};

/* Append-only; in display order. */
enum row_kind {
	ROW_KIND_GROUP = 0,
	ROW_KIND_HIDDEN = 1, /* sum of the groups that are not shown */
	ROW_KIND_WITHOUT_KEY = 2, /* attributed to a context without the key */
	ROW_KIND_UNATTRIBUTED = 3,
	ROW_KIND_OVERFLOW = 4,
	ROW_KIND_TOTAL = 5,
	_ROW_KIND_MAX,
};

struct row {
	enum row_kind kind;
	const struct group *group; /* ROW_KIND_GROUP only */
	const struct costs *costs;
	uint64_t request_count; /* distinct; 0 = not known */
	const struct distribution *requests; /* of these requests; NULL: none */
};

/* For each cost, all rows except the total add up to the total. */
struct rows {
	const struct totals *totals;
	const struct grouping *grouping;
	const struct group **groups;
	size_t group_count; /* shown */
	size_t hidden_count;
	struct costs hidden;
	uint64_t hidden_requests;
	struct distribution hidden_distribution;
	enum row_kind others[_ROW_KIND_MAX]; /* kinds of the rows below the groups, in order */
	size_t other_count;
};

/*
 * Sorts by a field (keys and names ascending, everything else descending, unmeasured last, ties by
 * key) and shows the first top_count groups; 0 = all. Returns 0 or -ENOMEM. Borrows totals and
 * grouping, which is one of totals'.
 */
int rows_init(struct rows *rows, const struct totals *totals, const struct grouping *grouping,
	      enum figure field, size_t top_count);
void rows_deinit(struct rows *rows);

/* Keeps the first count groups, in their current order, and sums up the others in the hidden row.
 * Returns 0, -ENOMEM. */
int rows_show_first(struct rows *rows, size_t count);

/*
 * Bounds memory for any number of requests and values: sums up and forgets the groups that would
 * not be among the first top_count (> 0) by field. Does so if the grouping has more than
 * ROWS_FOLD_AT groups without open requests, at least twice top_count of them, and neither
 * above_percent nor is_over_time.
 *   - By request: a request that ends later becomes a group only if it would be among the first.
 *   - By value: at least ROWS_KEPT_MIN groups stay; a value that is forgotten and comes again is a
 *     group without its former usage (lacking_cpu_ns).
 * Returns 0 or -ENOMEM.
 */
int rows_fold(const struct totals *totals, struct grouping *grouping, enum figure field,
	      size_t top_count);

/* Number of rows, including the total, which is the last one. */
size_t rows_count(const struct rows *rows);
struct row rows_at(const struct rows *rows, size_t index);
/* The name in JSON and CSV: "group", "unattributed". */
const char *rows_kind_name(enum row_kind kind);
/* Index of the first row of a kind; rows_count() if there is none. */
size_t rows_find_kind(const struct rows *rows, enum row_kind kind);

/* Whether a column is informative for these rows: tables omit others unless they were asked for
 * (enum figure_when). */
bool rows_tell(const struct rows *rows, enum figure figure);

/* The column by whose numbers rows are sorted for a field: another one if its order is the same. */
enum figure rows_sorted_by(const struct grouping *grouping, enum figure figure);

/* Whether a figure is a share, percentage, rate or mean of a count; and its value for a row, false
 * if not measured. */
bool rows_is_real(enum figure figure);
bool rows_real(const struct rows *rows, const struct row *row, enum figure figure,
	       double *ret_value);

/*
 * The number that a column shows for a row: nanoseconds or a count; billionths (ROWS_PARTS) for
 * shares, rates, percentages and means of counts. False: not measured, or a column of text.
 */
bool rows_number(const struct rows *rows, const struct row *row, enum figure field,
		 int64_t *ret_number);
