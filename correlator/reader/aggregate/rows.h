/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lines of a report in the order and number in which they are shown: groups, then the time
 * that belongs to none of them (where the groups leave any), then the total. The same for every
 * format.
 */
#pragma once

#include <stddef.h>

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

/* Columns of a report, and what it can be sorted by. */
enum row_field {
	ROW_FIELD_KEY = 0,
	ROW_FIELD_REQUESTS = 1,
	ROW_FIELD_CPU = 2,
	ROW_FIELD_USER = 3,
	ROW_FIELD_KERNEL = 4,
	ROW_FIELD_RUN_QUEUE = 5,
	ROW_FIELD_BLOCKED = 6,
	ROW_FIELD_SHARE = 7,
	ROW_FIELD_SLICES = 8,
	ROW_FIELD_SWITCHES = 9,
	ROW_FIELD_AMBIGUOUS = 10,
	ROW_FIELD_MIGRATIONS = 11,
	ROW_FIELD_STOLEN = 12,
	ROW_FIELD_CPU_PERCENT = 13,
	ROW_FIELD_MACHINE_PERCENT = 14,
	ROW_FIELD_THREAD_NAME = 15, /* grouping_has_name */
	ROW_FIELD_COMM = 16,
	ROW_FIELD_SPLIT_ERROR = 17, /* rows_split_error_matters */
	ROW_FIELD_UNINTERRUPTIBLE = 18,
	ROW_FIELD_SYSCALLS = 19,
	ROW_FIELD_RATE = 20, /* requests a second */
	ROW_FIELD_CPU_MEAN = 21, /* these of a group's requests, each as a whole */
	ROW_FIELD_CPU_P50 = 22,
	ROW_FIELD_CPU_P90 = 23,
	ROW_FIELD_CPU_P99 = 24,
	ROW_FIELD_CPU_MAX = 25,
	ROW_FIELD_WALL_MEAN = 26,
	ROW_FIELD_WALL_P50 = 27,
	ROW_FIELD_WALL_P90 = 28,
	ROW_FIELD_WALL_P99 = 29,
	ROW_FIELD_WALL_MAX = 30,
	ROW_FIELD_PARKED_MEAN = 31,
	ROW_FIELD_PARKED_P50 = 32,
	ROW_FIELD_PARKED_P90 = 33,
	ROW_FIELD_PARKED_P99 = 34,
	ROW_FIELD_PARKED_MAX = 35,
	ROW_FIELD_WALL = 36, /* these three of one request */
	ROW_FIELD_PARKED = 37, /* on no thread, rows_park */
	ROW_FIELD_ENDPOINT = 38,
	ROW_FIELD_SYSCALLS_MEAN = 39, /* of a request */
	ROW_FIELD_KEY_2 = 40, /* of several keys */
	ROW_FIELD_KEY_3 = 41,
	ROW_FIELD_KEY_4 = 42,
	ROW_FIELD_BEGAN = 43, /* wall clock of the first activity */
	ROW_FIELD_BLOCKED_DISK = 44, /* and on: its parts */
	ROW_FIELD_BLOCKED_NETWORK = 45,
	ROW_FIELD_BLOCKED_POLL = 46,
	ROW_FIELD_BLOCKED_PIPE = 47,
	ROW_FIELD_BLOCKED_FUTEX = 48,
	ROW_FIELD_BLOCKED_SLEEP = 49,
	ROW_FIELD_BLOCKED_CHILD = 50,
	ROW_FIELD_BLOCKED_FAULT = 51,
	ROW_FIELD_BLOCKED_OTHER = 52,
	ROW_FIELD_BLOCKED_ON = 53, /* in words: on what most of it was */
	ROW_FIELD_CHILDREN = 54, /* of cpu, in processes that the request started */
	ROW_FIELD_GVL = 55,
	ROW_FIELD_GVL_WAITS = 56,
	ROW_FIELD_GC = 57,
	ROW_FIELD_GC_RUNS = 58,
	_ROW_FIELD_MAX,
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
	      enum row_field field, size_t top_count);
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
int rows_fold(const struct totals *totals, struct grouping *grouping, enum row_field field,
	      size_t top_count);

/* Rows in all, the total last. */
size_t rows_count(const struct rows *rows);
struct row rows_at(const struct rows *rows, size_t index);
/* What JSON and CSV call it: "group", "unattributed". */
const char *rows_kind_name(enum row_kind kind);
/* Index of the first row of a kind; rows_count when there is none. */
size_t rows_find_kind(const struct rows *rows, enum row_kind kind);

/* Whether user and kernel time of some row may be wrong by so much that it must be said. */
bool rows_split_error_matters(const struct rows *rows);

/* Whether a cost that not each process counts is known of some row. */
bool rows_measure(const struct rows *rows, enum cost cost);

/* Whether the requests of some row were on no thread for 1 % of their time. */
bool rows_park(const struct rows *rows);

/* Which of several keys the column shows, from 0 on; false for a column that shows something else.
 */
bool rows_field_part(enum row_field field, size_t *ret_part);

/* The name on the command line ("run_queue"); rows_find_field: -EINVAL when there is none such. */
const char *rows_field_name(enum row_field field);
int rows_find_field(const char *name, enum row_field *ret_field);

/* The column whose numbers order rows by a field: another one where they are the same. */
enum row_field rows_field_sorted_by(const struct grouping *grouping, enum row_field field);

/*
 * What a column of numbers shows of a row: nanoseconds or a count; of share, rate, percentages and
 * means of counts, billionths (ROWS_PARTS). False: not measured, or a column of text.
 */
bool rows_number(const struct rows *rows, const struct row *row, enum row_field field,
		 int64_t *ret_number);

/* How the number of a column is to be read. */
enum row_unit {
	ROW_UNIT_TEXT = 0,
	ROW_UNIT_COUNT = 1,
	ROW_UNIT_NS = 2,
	ROW_UNIT_PERCENT = 3,
	ROW_UNIT_RATE = 4,
	ROW_UNIT_TIME = 5, /* wall clock, ns */
};
enum row_unit rows_field_unit(enum row_field field);

/* Whether a column is a reason's, a part of blocked; whether any of all that time was of it. */
bool rows_field_is_reason(enum row_field field);
bool rows_has_reason(const struct rows *rows, enum row_field field);

/* The cost behind a column; false for a column that shows something else. */
bool rows_field_cost(enum row_field field, enum cost *ret_cost);
