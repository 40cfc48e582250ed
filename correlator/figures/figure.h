/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The figures that are told of a request, of a thread or of a group, as data: what figures.def says
 * of each. Views, exports, alerts, the help and the manual are made from it. Constant; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "figures/costs.h"

enum figure {
#define COST(id, ...)	FIGURE_##id,
#define FIGURE(id, ...) FIGURE_##id,
#include "figures/figures.def"
	_FIGURE_MAX,
};

enum figure_unit {
	FIGURE_UNIT_TEXT = 0,
	FIGURE_UNIT_COUNT = 1,
	FIGURE_UNIT_NS = 2,
	FIGURE_UNIT_PERCENT = 3,
	FIGURE_UNIT_RATE = 4, /* a second, or of a request */
	FIGURE_UNIT_TIME = 5, /* wall clock, ns */
};

/* Where it comes from. */
enum figure_source {
	FIGURE_SOURCE_COST = 0, /* costs of a row */
	FIGURE_SOURCE_OF_COSTS = 1, /* computed of them */
	FIGURE_SOURCE_OF_ONE = 2, /* computed of one request */
	FIGURE_SOURCE_OF_REQUESTS = 3, /* computed of a group's requests */
	FIGURE_SOURCE_MEAN = 4, /* of them, each as a whole */
	FIGURE_SOURCE_PERCENTILE = 5,
	FIGURE_SOURCE_NAME = 6, /* a text beside the key */
	FIGURE_SOURCE_KEY = 7,
};

/* When a table has it that was not asked for it. */
enum figure_when {
	FIGURE_WHEN_ALWAYS = 0,
	FIGURE_WHEN_MEASURED = 1, /* in some row */
	FIGURE_WHEN_USED = 2, /* it is more than 0 in the total */
	FIGURE_WHEN_NAMED = 3, /* some row has the name */
	FIGURE_WHEN_PARKS = 4, /* requests were on no thread for long enough */
	FIGURE_WHEN_SPLIT_MATTERS = 5, /* user and kernel may be wrong by so much */
};

/* What shows figures without being asked for each. */
enum figure_view {
	FIGURE_VIEW_GROUPS = 0, /* tables of a report, of groups of requests, */
	FIGURE_VIEW_REQUESTS = 1,
	FIGURE_VIEW_SLOWEST = 2,
	FIGURE_VIEW_MACHINE = 3, /* of what ran, */
	FIGURE_VIEW_UNATTRIBUTED = 4, /* of threads in no context, */
	FIGURE_VIEW_STEPS = 5, /* of steps of time, */
	FIGURE_VIEW_LINES = 6, /* of groups in them, */
	FIGURE_VIEW_WINDOWS = 7, /* of a request's windows */
	FIGURE_VIEW_TOP_GROUPS = 8, /* lists of top */
	FIGURE_VIEW_TOP_FLIGHT = 9,
	FIGURE_VIEW_TOP_THREADS = 10,
	FIGURE_VIEW_TOP_REQUESTS = 11,
	FIGURE_VIEW_TOP_STORY = 12,
	FIGURE_VIEW_PAGE_GROUPS = 13, /* tables of the page */
	FIGURE_VIEW_PAGE_REQUESTS = 14,
	FIGURE_VIEW_PAGE_STORY = 15,
	FIGURE_VIEW_PAGE_COSTS = 16, /* what its chart and its table of threads show */
	FIGURE_VIEW_PAGE_COMPARED = 17,
	FIGURE_VIEW_PAGE_CELLS = 18, /* what its script adds up */
	FIGURE_VIEW_METRICS = 19, /* of processes, for a monitoring system: costs */
	_FIGURE_VIEW_MAX,
};

/* Costs of a request as a whole: a group keeps how each is distributed over its requests. */
enum request_cost {
	REQUEST_CPU = 0,
	REQUEST_WALL = 1, /* from its first activity to its last */
	REQUEST_PARKED = 2, /* costs_parked_ns */
	_REQUEST_COST_MAX,
};

/* Texts beside a group's key. */
enum group_name {
	GROUP_NAME_THREAD = 0, /* by tid */
	GROUP_NAME_COMM = 1, /* of the process: by tid and pid */
	GROUP_NAME_ENDPOINT = 2, /* of a request */
	_GROUP_NAME_MAX,
};

struct figure_place {
	unsigned int place; /* in the order of the view; 0 = not shown */
	unsigned int rank; /* the highest is left out first where there is no room; 0 = never */
};

struct figure_info {
	const char *name; /* for --columns, --sort and --alert */
	const char *field; /* in JSON and CSV; NULL = it has none */
	const char *title; /* of a column on a screen; of a key it is the key's name */
	const char *text; /* what it is, one sentence */
	enum figure_unit unit;
	enum figure_source source;
	int what; /* enum cost, request_cost or group_name; of a key its number, from 0 on */
	double percent; /* FIGURE_SOURCE_PERCENTILE */
	enum figure_when when;
	struct figure_place places[_FIGURE_VIEW_MAX];
};

extern const struct figure_info figure_infos[_FIGURE_MAX];

/* The figures that a view shows, in order; returns how many. */
size_t figures_of_view(enum figure_view view, enum figure ret_figures[static _FIGURE_MAX]);

/* Of names as on the command line. 0, or -EINVAL: there is none such. */
int figure_find(const char *name, enum figure *ret_figure);

/* Writes the names of the figures that are wanted, with commas between them; as many as text_bytes
 * take. */
typedef bool (*figure_fn)(enum figure figure, const void *context);
void figure_list(figure_fn is_wanted, const void *context, char *ret_text, size_t text_bytes);

/* text, count, ns, percent, rate, time. */
const char *figure_unit_name(enum figure_unit unit);

/* The cost that it is; false: it is none. */
bool figure_cost(enum figure figure, enum cost *ret_cost);
/* The figure that a cost is. */
enum figure figure_of_cost(enum cost cost);
/* Of one request what request_cost is of many. */
enum figure figure_of_request(enum request_cost cost);
/* Which of several keys it is, from 0 on; false: it is no key. */
bool figure_part(enum figure figure, size_t *ret_part);
/* Whether it is of a group's requests, not of their time in all. */
bool figure_is_of_requests(enum figure figure);
