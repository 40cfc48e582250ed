/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last minutes of a stream of records, by its windows, so that one can look back: each window
 * keeps its records (packing.h), and any totals of any span of them are made of these by
 * reader/report/. Bounded in time and bytes: the oldest window goes first. What does not belong to
 * a window, which machine, mode and processes these are, is known of the whole stream. Single
 * thread.
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
	HISTORY_WINDOWS_MAX =
		8192, /* more than there are in HISTORY_SECONDS_MAX, but of short ones */
	HISTORY_SECONDS_MAX = 600,
	HISTORY_BYTES_MAX = 64 * 1024 * 1024,
	HISTORY_FRAMES_BYTES_MAX = 16 * 1024 * 1024,
};

/* What ended at the same time. */
struct history_window {
	uint64_t end_ns; /* wall clock */
	uint64_t start_ns; /* by the longest of its records */
	size_t record_count;
	struct packed records;
};

struct history {
	struct selection selection; /* once each: there is no filter */
	struct packing packing;
	struct history_window *windows; /* a ring of HISTORY_WINDOWS_MAX */
	uint64_t first; /* number of the oldest window; numbers grow by 1 */
	uint64_t count;
	struct packed frames; /* the stack records: each is told once, and lasts */
	size_t bytes; /* of all windows */
	size_t bytes_max;
	bool is_open; /* more may come of the last window */
	uint64_t left_out; /* records that no room was found for */
	uint64_t damaged; /* balance records that lack a time */
	uint64_t seed;
};

/* 0, -ENOMEM. */
int history_init(struct history *history);
void history_deinit(struct history *history);

/* Adds a record; one that is known already changes nothing. A window's record that ends later than
 * the last window begins a new one. 0, -ENOMEM. */
int history_add(struct history *history, const struct record_view *record);
/* Nothing more comes of the last window, if there is one, for now: it can be shown. */
void history_close_window(struct history *history);

/* How many windows are complete; their numbers are first .. first + this - 1. */
uint64_t history_closed_count(const struct history *history);
/* Borrowed until the next add. number: of one that is kept. */
const struct history_window *history_window(const struct history *history, uint64_t number);

/* Two requests have different tags (but for one of 2^64 pairs), a record of none has 0. */
uint64_t history_tag(const struct history *history, struct record_text request_id);

/* Records of cpu kind that are wanted, by their tags; NULL: all. */
typedef bool (*history_wants_fn)(const void *context, uint64_t tag);

struct history_span {
	uint64_t first, last; /* numbers of windows, both included */
	history_wants_fn wants;
	const void *context;
	bool has_no_cpu; /* only what is no cpu record */
};

/* Adds the records of a span to totals, which borrow what is known of the stream: history must live
 * longer, and nothing be added to it meanwhile. 0, or as totals_add. */
int history_add_up(const struct history *history, const struct history_span *span,
		   struct totals *totals);

/* Adds the cpu records and samples of a span, and the frames of all, to stacks, and finishes them.
 * 0, -ENOMEM. */
int history_add_stacks(const struct history *history, const struct history_span *span,
		       struct stacks *stacks);

/* Calls back for each cpu record of a span that is wanted, from the oldest on, until it returns
 * something else than 0, which is returned. */
typedef int (*history_visit_fn)(void *user, const struct history_window *window,
				const struct record_view *record);
int history_visit(const struct history *history, const struct history_span *span,
		  history_visit_fn visit, void *user);
