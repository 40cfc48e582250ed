/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lines of a report in the order and number in which they are shown: groups, then the time
 * that belongs to none of them (where the groups leave any), then the total. The same for every
 * format.
 */
#pragma once

#include <stddef.h>

#include "figures/figure.h"
#include "reader/aggregate/grouping.h"
#include "reader/aggregate/totals.h"

/* What shares and rates are given in: parts so small that they may be rounded once more. */
enum {
	ROWS_PARTS = 1000000000
};

enum {
	ROWS_FOLD_AT = 8192,
	ROWS_KEPT_MIN = 2048, /* of values, of which more may come */
};

/* Append-only; the order in which they are shown. */
enum row_kind {
	ROW_KIND_GROUP = 0,
	ROW_KIND_HIDDEN = 1, /* the sum of the groups that are not shown */
	ROW_KIND_WITHOUT_KEY = 2, /* attributed to a context that has no such key */
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
	const struct distribution *requests; /* of them; NULL: none */
};

/* Each cost of all rows but the total adds up to the total. */
struct rows {
	const struct totals *totals;
	const struct grouping *grouping;
	const struct group **groups;
	size_t group_count; /* shown */
	size_t hidden_count;
	struct costs hidden;
	uint64_t hidden_requests;
	struct distribution hidden_distribution;
	enum row_kind others[_ROW_KIND_MAX]; /* those shown below the groups, in order */
	size_t other_count;
};

/*
 * Sorts by a field (key and names ascending, everything else descending, not measured last, equals
 * by key) and shows the first top_count; 0 = all. 0 or -ENOMEM. Borrows totals and grouping, which
 * is one of totals.
 */
int rows_init(struct rows *rows, const struct totals *totals, const struct grouping *grouping,
	      enum figure field, size_t top_count);
void rows_deinit(struct rows *rows);

/* From now on the first count groups are shown, in whatever order they are, and the sum of the
 * others. 0, -ENOMEM. */
int rows_show_first(struct rows *rows, size_t count);

/*
 * Of a grouping with more than ROWS_FOLD_AT groups without an open request, and twice as many as
 * are to be shown, where all are wanted: those that would not be among the first top_count (> 0) by
 * this field are summed up and forgotten. Of requests that end later none becomes a group that
 * would not be. Of values at least ROWS_KEPT_MIN stay: one that is forgotten and comes again is a
 * group without what it used before (lacking_cpu_ns). So any number of requests and values takes
 * little memory. 0 or -ENOMEM.
 */
int rows_fold(const struct totals *totals, struct grouping *grouping, enum figure field,
	      size_t top_count);

/* Rows in all, the total last. */
size_t rows_count(const struct rows *rows);
struct row rows_at(const struct rows *rows, size_t index);
/* What JSON and CSV call it: "group", "unattributed". */
const char *rows_kind_name(enum row_kind kind);
/* Index of the first row of a kind; rows_count when there is none. */
size_t rows_find_kind(const struct rows *rows, enum row_kind kind);

/* Whether a column tells anything about these rows: what a table leaves out that was not asked for
 * it (enum figure_when). */
bool rows_tell(const struct rows *rows, enum figure figure);

/* The column whose numbers order rows by a field: another one where they are the same. */
enum figure rows_sorted_by(const struct grouping *grouping, enum figure figure);

/* Whether a figure is a share, percentage, rate or mean of a count; and then what it is of a row.
 * False: not measured. */
bool rows_is_real(enum figure figure);
bool rows_real(const struct rows *rows, const struct row *row, enum figure figure,
	       double *ret_value);

/*
 * What a column of numbers shows of a row: nanoseconds or a count; of share, rate, percentages and
 * means of counts, billionths (ROWS_PARTS). False: not measured, or a column of text.
 */
bool rows_number(const struct rows *rows, const struct row *row, enum figure field,
		 int64_t *ret_number);
