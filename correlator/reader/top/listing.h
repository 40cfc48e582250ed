/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The list on the screen: its rows, which reader/report/ makes from the records of a span of
 * windows, and the texts of the frame around it. Made anew for each picture. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/aggregate/rows.h"
#include "reader/top/history.h"
#include "reader/top/in_flight.h"
#include "reader/top/navigation.h"

enum {
	LISTING_OWN_MAX = 3, /* columns of a list that are none of a report's */
	LISTING_COLUMNS_MAX = _FIGURE_MAX + LISTING_OWN_MAX,
	LISTING_BY_MAX = RECORDING_KEYS_MAX + 4,
	LISTING_STORY_MAX = 4096, /* lines: what is more is counted */
};

/* Columns that are none of a report's. */
enum listing_column {
	LISTING_STATE = _FIGURE_MAX, /* of a request in flight */
	LISTING_THREAD,
	LISTING_AT, /* these of a story */
	LISTING_BAR,
};

struct listing_field {
	int field; /* enum figure or listing_column */
	const char *title;
	unsigned int rank; /* as of table_column */
	bool is_text;
};

/* What one thread did for a request in a window. */
struct story_line {
	uint64_t end_ns; /* of the window */
	uint64_t window_ns;
	int64_t pid, tid;
	char thread_name[GROUP_NAME_BYTES + 1];
	struct costs costs;
};

struct listing {
	enum list list;
	const struct navigation_place *place; /* borrowed */
	char by[RECORDING_TEXT_BYTES]; /* what the rows are grouped by */
	const char *by_names[LISTING_BY_MAX]; /* what they could be */
	size_t by_count;
	bool has_windows;
	uint64_t first, last; /* numbers of the windows that it is of */
	uint64_t newest; /* number of the newest window that there is */
	uint64_t start_ns, end_ns; /* wall clock */
	struct totals frame; /* books, own cost, mode of the span: no cpu records */
	struct totals totals;
	struct rows rows; /* of totals; in the order in which they are shown */
	struct in_flight in_flight;
	const struct history *history; /* borrowed */
	struct listing_field fields[LISTING_COLUMNS_MAX]; /* the first is the rows' name */
	size_t field_count;
	struct story_line *story;
	size_t story_count, story_left_out;
	char *text; /* LIST_BOOKS, LIST_CODE: lines; NULL = there is nothing */
	size_t row_count; /* of groups, or lines of a story or text */
	size_t selected;
};

/* Of a history, which outlives it; by where the user is, whose selection it follows; width: of the
 * screen. 0, -ENOMEM, or as totals_add. */
int listing_init(struct listing *listing, const struct history *history,
		 struct navigation *navigation, size_t width);
void listing_deinit(struct listing *listing);

/* Keeps the first count groups, and sums the others in one row. 0, -ENOMEM. */
int listing_show_first(struct listing *listing, size_t count);

/* Whether it has lines of text, and no table. */
bool listing_is_text(const struct listing *listing);

/* The value that a row is known by: "" = none. */
void listing_value(const struct listing *listing, size_t row,
		   char ret_value[static NAVIGATION_VALUE_BYTES]);

/* The cell of a row (groups, then what is in none of them) in a column, of TABLE_CELL_BYTES. */
void listing_cell(const struct listing *listing, size_t row, size_t column, char *ret_text);

/* What a key may find. fields: room for LISTING_COLUMNS_MAX; value: NAVIGATION_VALUE_BYTES. */
void listing_scene(const struct listing *listing, enum figure *fields, char *value,
		   struct scene *ret_scene);
