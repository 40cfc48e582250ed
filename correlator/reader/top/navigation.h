/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the user is: the list, its span of windows, order, filter and selected row; and what each
 * key changes. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/aggregate/rows.h"
#include "reader/query/recording.h"
#include "record/record_view.h"

/* Lists on the screen. The first four are panes, with keys 1 to 4. */
enum list {
	LIST_GROUPS = 0, /* by endpoint, or another key */
	LIST_IN_FLIGHT = 1, /* requests in progress when the last window ended */
	LIST_THREADS = 2,
	LIST_BOOKS = 3,
	LIST_REQUESTS = 4, /* requests of a group or thread */
	LIST_STORY = 5, /* story of a request: what each of its threads did, window by window */
	LIST_CODE = 6, /* code of a row: the stacks of its samples */
	_LIST_MAX,
	_LIST_PANES = LIST_BOOKS + 1,
};

enum span {
	SPAN_WINDOW = 0, /* the last window */
	SPAN_SECONDS = 1, /* the last NAVIGATION_SPAN_SECONDS */
	SPAN_ALL = 2, /* all windows that are kept */
	_SPAN_MAX,
};

/* Keys that are not characters. */
enum navigation_key {
	KEY_OF_UP = 0x200000, /* above all characters */
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

/* A list, its subject, and its selected row. */
struct navigation_place {
	enum list list;
	char of[NAVIGATION_VALUE_BYTES]; /* LIST_REQUESTS: KEY=VALUE; LIST_STORY: request_id;
					    LIST_CODE: KEY=VALUE, "" = everything */
	size_t selected;
	bool has_picked; /* selected follows value when rows move */
	char value[NAVIGATION_VALUE_BYTES];
};

struct navigation {
	struct navigation_place path[NAVIGATION_DEPTH_MAX]; /* path[depth - 1] is shown */
	size_t depth; /* at least 1 */
	char by[RECORDING_TEXT_BYTES]; /* key of LIST_GROUPS; "" = endpoint if recorded, else the
					  first key */
	struct order orders[_LIST_MAX];
	enum span span;
	bool is_frozen;
	uint64_t frozen_at; /* number of the last window shown */
	char filter[NAVIGATION_FILTER_BYTES]; /* KEY=VALUE, KEY~PATTERN, or a pattern of names */
	char typed[NAVIGATION_FILTER_BYTES];
	bool is_typing; /* a filter is being typed */
	bool shows_help;
	bool has_quit;
};

/* The picture on the screen when a key is pressed. Borrowed. */
struct scene {
	uint64_t first, last; /* numbers of the kept, complete windows, if has_windows */
	bool has_windows;
	size_t row_count;
	size_t page_rows; /* rows that fit on the screen */
	const char *value; /* of the selected row; "" = none, it leads nowhere */
	const enum figure *fields; /* figures of the sortable columns */
	size_t field_count;
	const char *by; /* current key of the list, */
	const char *const *by_names; /* and all keys for LIST_GROUPS */
	size_t by_count;
};

void navigation_init(struct navigation *navigation);

/* The place that is shown, and its order. */
const struct navigation_place *navigation_place(const struct navigation *navigation);
const struct order *navigation_order(const struct navigation *navigation);

/* Handles a key: a character, or enum navigation_key. */
void navigation_take(struct navigation *navigation, int key, const struct scene *scene);

/* Stores the row that the listing selected, and its value. */
void navigation_settle(struct navigation *navigation, size_t selected, const char *value);

/* True if a filter is KEY=VALUE or KEY~PATTERN, for filter_add; else it is a pattern for names. */
bool navigation_filter_is_condition(const char *filter);
