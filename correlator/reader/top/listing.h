/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The list on the screen: its rows, which reader/report/ makes from the records of a span of
 * windows, and the texts of the frame around it. Rebuilt for each picture. Single thread.
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
	LISTING_OWN_MAX = 3, /* columns per list that no report has */
	LISTING_COLUMNS_MAX = _FIGURE_MAX + LISTING_OWN_MAX,
	LISTING_BY_MAX = RECORDING_KEYS_MAX + 4,
	LISTING_STORY_MAX = 4096, /* lines; further ones are only counted */
};

/* Columns that no report has. */
enum listing_column {
	LISTING_STATE = _FIGURE_MAX, /* of a request in flight */
	LISTING_THREAD,
	LISTING_AT, /* this and the next: of a story */
	LISTING_BAR,
};

struct listing_field {
	int field; /* enum figure or listing_column */
	const char *title;
	unsigned int rank; /* as in struct table_column */
	bool is_text;
};

/* The costs of one thread for a request in a window. */
struct story_line {
	uint64_t end_ns; /* end of the window */
	uint64_t window_ns;
	int64_t pid, tid;
	char thread_name[GROUP_NAME_BYTES + 1];
	struct costs costs;
};

struct listing {
	enum list list;
	const struct navigation_place *place; /* borrowed */
	char by[RECORDING_TEXT_BYTES]; /* key by which the rows are grouped */
	const char *by_names[LISTING_BY_MAX]; /* all possible keys */
	size_t by_count;
	bool has_windows;
	uint64_t first, last; /* numbers of the windows shown */
	uint64_t newest; /* number of the newest complete window */
	uint64_t start_ns, end_ns; /* wall clock */
	struct totals frame; /* books, own cost, mode of the span: no cpu records */
	struct totals totals;
	struct rows rows; /* of totals, in display order */
	struct in_flight in_flight;
	const struct history *history; /* borrowed */
	struct listing_field fields[LISTING_COLUMNS_MAX]; /* the first has the rows' names */
	size_t field_count;
	struct story_line *story;
	size_t story_count, story_left_out;
	char *text; /* LIST_BOOKS, LIST_CODE: lines; NULL = none */
	size_t row_count; /* groups, or lines of a story or text */
	size_t selected;
};

/* Makes the listing of history, which must outlive it, for the user's place in navigation, whose
 * selection it updates. width: of the screen. 0, -ENOMEM, or as totals_add. */
int listing_init(struct listing *listing, const struct history *history,
		 struct navigation *navigation, size_t width);
void listing_deinit(struct listing *listing);

/* Keeps the first count groups, and folds the others into one row. 0, -ENOMEM. */
int listing_show_first(struct listing *listing, size_t count);

/* True if it consists of lines of text, without a table. */
bool listing_is_text(const struct listing *listing);

/* The value that identifies a row; "" = none. */
void listing_value(const struct listing *listing, size_t row,
		   char ret_value[static NAVIGATION_VALUE_BYTES]);

/* Writes a cell: a row (the groups, then the rows that are in no group) in a column. ret_text has
 * TABLE_CELL_BYTES. */
void listing_cell(const struct listing *listing, size_t row, size_t column, char *ret_text);

/* Describes the picture for the next key. fields: LISTING_COLUMNS_MAX elements; value:
 * NAVIGATION_VALUE_BYTES. */
void listing_scene(const struct listing *listing, enum figure *fields, char *value,
		   struct scene *ret_scene);
