/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last minutes of a stream of records, by window, for looking back: each window keeps its
 * records (packing.h), and reader/report/ makes the totals of any span of windows from them.
 * Bounded in time and bytes: the oldest window is dropped first. Records that belong to no window
 * (machine, mode, processes) are kept for the whole stream. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/aggregate/books.h"
#include "reader/aggregate/totals.h"
#include "reader/profile/stacks.h"
#include "reader/query/packing.h"
#include "reader/query/selection.h"
#include "record/record_view.h"

enum {
	HISTORY_WINDOWS_MAX = 8192, /* enough for HISTORY_SECONDS_MAX, except with short windows */
	HISTORY_SECONDS_MAX = 600,
	HISTORY_BYTES_MAX = 64 * 1024 * 1024,
	HISTORY_FRAMES_BYTES_MAX = 16 * 1024 * 1024,
};

/* Records that end at the same time. */
struct history_window {
	uint64_t end_ns; /* wall clock */
	uint64_t start_ns; /* start of its longest record */
	size_t record_count;
	struct packed records;
};

struct history {
	struct selection selection; /* drops duplicates; has no filter */
	struct packing packing;
	struct history_window *windows; /* a ring of HISTORY_WINDOWS_MAX */
	uint64_t first; /* number of the oldest window; numbers grow by 1 */
	uint64_t count;
	struct packed frames; /* stack records: each arrives once, and is kept */
	size_t bytes; /* in all windows */
	size_t bytes_max;
	bool is_open; /* the last window may get more records */
	uint64_t left_out; /* records that did not fit */
	uint64_t damaged; /* balance records that lack a time */
	uint64_t seed;
};

/* 0, -ENOMEM. */
int history_init(struct history *history);
void history_deinit(struct history *history);

/* Adds a record; a duplicate changes nothing. A window's record that ends later than the last
 * window begins a new one. 0, -ENOMEM. */
int history_add(struct history *history, const struct record_view *record);
/* Closes the last window, if there is one: it has no more records for now, and can be shown. */
void history_close_window(struct history *history);

/* Number of complete windows; they are numbered from first on. */
uint64_t history_closed_count(const struct history *history);
/* Borrowed until the next add. number: of a window that is kept. */
const struct history_window *history_window(const struct history *history, uint64_t number);

/* Tag of a request. Different requests have different tags (except for one pair in 2^64); a record
 * without a request has 0. */
uint64_t history_tag(const struct history *history, struct record_text request_id);

/* Selects cpu records by tag; NULL: all. */
typedef bool (*history_wants_fn)(const void *context, uint64_t tag);

struct history_span {
	uint64_t first, last; /* numbers of windows, both included */
	history_wants_fn wants;
	const void *context;
	bool has_no_cpu; /* leaves out cpu records */
};

/* Adds the records of a span to totals, which borrow the stream's recording: history must outlive
 * totals, and must not get more records during that time. 0, or as totals_add. */
int history_add_up(const struct history *history, const struct history_span *span,
		   struct totals *totals);

/* Adds the cpu records and samples of a span, and all stack records, to stacks, and finishes them.
 * 0, -ENOMEM. */
int history_add_stacks(const struct history *history, const struct history_span *span,
		       struct stacks *stacks);

/* Calls visit for each selected cpu record of a span, oldest first, until it returns non-zero.
 * Returns that value, or 0. */
typedef int (*history_visit_fn)(void *user, const struct history_window *window,
				const struct record_view *record);
int history_visit(const struct history *history, const struct history_span *span,
		  history_visit_fn visit, void *user);
