/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The figures of a request, of a thread or of a group, as data: the rows of figures.def. Views,
 * exports, alerts, the help and the manual are made from it. Constant; any thread.
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
	FIGURE_UNIT_RATE = 4, /* per second, or per request */
	FIGURE_UNIT_TIME = 5, /* wall clock, ns */
};

/* Where a figure comes from. */
enum figure_source {
	FIGURE_SOURCE_COST = 0, /* a cost of a row */
	FIGURE_SOURCE_OF_COSTS = 1, /* computed from the costs of a row */
	FIGURE_SOURCE_OF_ONE = 2, /* computed from one request */
	FIGURE_SOURCE_OF_REQUESTS = 3, /* computed from a group's requests */
	FIGURE_SOURCE_MEAN = 4, /* mean over a group's requests, each as a whole */
	FIGURE_SOURCE_PERCENTILE = 5,
	FIGURE_SOURCE_NAME = 6, /* a text next to the key */
	FIGURE_SOURCE_KEY = 7,
};

/* When a table shows a figure without being asked for it. */
enum figure_when {
	FIGURE_WHEN_ALWAYS = 0,
	FIGURE_WHEN_MEASURED = 1, /* measured in some row */
	FIGURE_WHEN_USED = 2, /* more than 0 in the total */
	FIGURE_WHEN_NAMED = 3, /* some row has the name */
	FIGURE_WHEN_PARKS = 4, /* requests were on no thread for long enough */
	FIGURE_WHEN_SPLIT_MATTERS = 5, /* the error of user and kernel is large enough to matter */
};

/* Views: they show figures without being asked for each. */
enum figure_view {
	FIGURE_VIEW_GROUPS = 0, /* report: groups of requests */
	FIGURE_VIEW_REQUESTS = 1,
	FIGURE_VIEW_SLOWEST = 2,
	FIGURE_VIEW_MACHINE = 3, /* report: what ran */
	FIGURE_VIEW_UNATTRIBUTED = 4, /* report: threads in no context */
	FIGURE_VIEW_STEPS = 5, /* report: steps of time */
	FIGURE_VIEW_LINES = 6, /* report: groups in steps */
	FIGURE_VIEW_WINDOWS = 7, /* report: windows of a request */
	FIGURE_VIEW_TOP_GROUPS = 8, /* top: lists, up to TOP_STORY */
	FIGURE_VIEW_TOP_FLIGHT = 9,
	FIGURE_VIEW_TOP_THREADS = 10,
	FIGURE_VIEW_TOP_REQUESTS = 11,
	FIGURE_VIEW_TOP_STORY = 12,
	FIGURE_VIEW_PAGE_GROUPS = 13, /* page: tables, up to PAGE_STORY */
	FIGURE_VIEW_PAGE_REQUESTS = 14,
	FIGURE_VIEW_PAGE_STORY = 15,
	FIGURE_VIEW_PAGE_COSTS = 16, /* page: its chart and its table of threads */
	FIGURE_VIEW_PAGE_COMPARED = 17,
	FIGURE_VIEW_PAGE_CELLS = 18, /* page: sums made by its script */
	FIGURE_VIEW_METRICS = 19, /* costs of processes, for a monitoring system */
	_FIGURE_VIEW_MAX,
};

/* Costs of a request as a whole: a group keeps the distribution of each over its requests. */
enum request_cost {
	REQUEST_CPU = 0,
	REQUEST_WALL = 1, /* from its first activity to its last */
	REQUEST_PARKED = 2, /* costs_parked_ns */
	_REQUEST_COST_MAX,
};

/* Texts next to a group's key. */
enum group_name {
	GROUP_NAME_THREAD = 0, /* by tid */
	GROUP_NAME_COMM = 1, /* of the process: by tid and pid */
	GROUP_NAME_ENDPOINT = 2, /* of a request */
	_GROUP_NAME_MAX,
};

struct figure_place {
	unsigned int place; /* position within the view; 0 = not shown */
	unsigned int rank; /* the highest is dropped first if space is short; 0 = never */
};

struct figure_info {
	const char *name; /* for --columns, --sort and --alert */
	const char *field; /* in JSON and CSV; NULL = it has none */
	const char *title; /* of a column on a screen; NULL for a key, whose name is used */
	const char *text; /* what it is, one sentence */
	enum figure_unit unit;
	enum figure_source source;
	int what; /* enum cost, request_cost or group_name; for a key its index, from 0 */
	double percent; /* FIGURE_SOURCE_PERCENTILE */
	enum figure_when when;
	struct figure_place places[_FIGURE_VIEW_MAX];
};

extern const struct figure_info figure_infos[_FIGURE_MAX];

/* The figures that a view shows, in order; returns how many. */
size_t figures_of_view(enum figure_view view, enum figure ret_figures[static _FIGURE_MAX]);

/* Finds a figure by its name on the command line. 0, or -EINVAL: no such figure. */
int figure_find(const char *name, enum figure *ret_figure);

/* Writes the names of the figures that is_wanted() accepts, separated by commas; as many as fit
 * in text_bytes. */
typedef bool (*figure_fn)(enum figure figure, const void *context);
void figure_list(figure_fn is_wanted, const void *context, char *ret_text, size_t text_bytes);

/* text, count, ns, percent, rate, time. */
const char *figure_unit_name(enum figure_unit unit);

/* The cost that a figure shows; false: it is not a cost. */
bool figure_cost(enum figure figure, enum cost *ret_cost);
/* The figure that shows a cost. */
enum figure figure_of_cost(enum cost cost);
/* The figure of one request whose distribution request_cost is. */
enum figure figure_of_request(enum request_cost cost);
/* The index of a key figure, from 0; false: it is not a key. */
bool figure_part(enum figure figure, size_t *ret_part);
/* Whether the figure describes a group's requests, not their total time. */
bool figure_is_of_requests(enum figure figure);
