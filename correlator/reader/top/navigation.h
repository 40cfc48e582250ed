/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the user is: which list, of which span of windows, sorted and filtered how, what is
 * selected; and what each key does to that. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/aggregate/rows.h"
#include "reader/query/recording.h"
#include "record/record_view.h"

/* What the screen lists. The first four are panes, with keys 1 to 4. */
enum list {
	LIST_GROUPS = 0, /* by endpoint, or another key */
	LIST_IN_FLIGHT = 1, /* requests that were being worked for when the last window ended */
	LIST_THREADS = 2,
	LIST_BOOKS = 3,
	LIST_REQUESTS = 4, /* of a group or thread */
	LIST_STORY = 5, /* of a request: what each of its threads did, window by window */
	LIST_CODE = 6, /* of a row: the stacks of its samples */
	_LIST_MAX,
	_LIST_PANES = LIST_BOOKS + 1,
};

enum span {
	SPAN_WINDOW = 0, /* the last one */
	SPAN_SECONDS = 1, /* the last NAVIGATION_SPAN_SECONDS */
	SPAN_ALL = 2, /* what is kept */
	_SPAN_MAX,
};

/* Keys that are no character. */
enum navigation_key {
	KEY_OF_UP = 0x200000, /* beyond all characters */
	KEY_OF_DOWN,
	KEY_OF_LEFT,
	KEY_OF_RIGHT,
	KEY_OF_PAGE_UP,
	KEY_OF_PAGE_DOWN,
	KEY_OF_HOME,
	KEY_OF_END,
	KEY_OF_ENTER,
	KEY_OF_ESCAPE,
	KEY_OF_BACKSPACE,
};

enum {
	NAVIGATION_SPAN_SECONDS = 10,
	NAVIGATION_VALUE_BYTES = RECORD_VIEW_TEXT_BYTES_MAX + 1,
	NAVIGATION_FILTER_BYTES = 256,
	NAVIGATION_DEPTH_MAX = 4,
};

struct order {
	enum figure field;
	bool is_reversed;
};

/* A list, of what, and the row that is selected in it. */
struct navigation_place {
	enum list list;
	char of[NAVIGATION_VALUE_BYTES]; /* LIST_REQUESTS: KEY=VALUE; LIST_STORY:
					     request_id; LIST_CODE: KEY=VALUE, "" = of all */
	size_t selected;
	bool has_picked; /* selected goes where its value goes */
	char value[NAVIGATION_VALUE_BYTES];
};

struct navigation {
	struct navigation_place path[NAVIGATION_DEPTH_MAX]; /* the last one is shown */
	size_t depth; /* at least 1 */
	char by[RECORDING_TEXT_BYTES]; /* of LIST_GROUPS; "" = the first key there is */
	struct order orders[_LIST_MAX];
	enum span span;
	bool is_frozen;
	uint64_t frozen_at; /* number of a window */
	char filter[NAVIGATION_FILTER_BYTES]; /* KEY=VALUE, KEY~PATTERN, or a pattern of names */
	char typed[NAVIGATION_FILTER_BYTES];
	bool is_typing; /* the filter */
	bool shows_help;
	bool has_quit;
};

/* What is on the screen when a key comes. Borrowed. */
struct scene {
	uint64_t first, last; /* numbers of the windows that there are, if has_windows */
	bool has_windows;
	size_t row_count;
	size_t page_rows; /* that fit */
	const char *value; /* of the selected row; "" = none that leads anywhere */
	const enum figure *fields; /* of the columns that can be sorted by */
	size_t field_count;
	const char *by; /* what LIST_GROUPS is grouped by now, */
	const char *const *by_names; /* and all that it can be */
	size_t by_count;
};

void navigation_init(struct navigation *navigation);

/* What is shown. */
const struct navigation_place *navigation_place(const struct navigation *navigation);
const struct order *navigation_order(const struct navigation *navigation);

/* Takes a key: a character, or enum navigation_key. */
void navigation_take(struct navigation *navigation, int key, const struct scene *scene);

/* The listing has this row selected now, which is of this value. */
void navigation_settle(struct navigation *navigation, size_t selected, const char *value);

/* Whether a filter is KEY=VALUE or KEY~PATTERN, for filter_add; else it is a pattern of names. */
bool navigation_filter_is_condition(const char *filter);
