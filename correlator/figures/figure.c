/* SPDX-License-Identifier: GPL-2.0-only */
#include "figures/figure.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "record/record.h"

/* Sources. */
#define RECORD(member)		    .source = FIGURE_SOURCE_COST, .field = RECORD_FIELD(cpu, member)
#define RECORD_OR_SUM(member, a, b) RECORD(member)
#define SUM(field_, a, b)	    .source = FIGURE_SOURCE_COST, .field = (field_)
#define OF_COSTS(field_)	    .source = FIGURE_SOURCE_OF_COSTS, .field = (field_)
#define OF_ONE(field_)		    .source = FIGURE_SOURCE_OF_ONE, .field = (field_)
#define OF_REQUESTS(field_)	    .source = FIGURE_SOURCE_OF_REQUESTS, .field = (field_)
#define NAME(which, field_) \
	.source = FIGURE_SOURCE_NAME, .what = GROUP_NAME_##which, .field = (field_)
#define KEY(part)		     .source = FIGURE_SOURCE_KEY, .what = (part)
#define MEAN(which, field_)	     OF_EACH(MEAN, which, field_)
#define PERCENTILE(which, p, field_) OF_EACH(PERCENTILE, which, field_), .percent = (p)
#define OF_EACH(source_, which, field_) \
	.source = FIGURE_SOURCE_##source_, .what = REQUEST_##which, .field = (field_)

#define IN(view, place, rank) [FIGURE_VIEW_##view] = { place, rank },

const struct figure_info figure_infos[_FIGURE_MAX] = {
#define ROW(id, name_, title_, unit_, when_, text_)                      \
	.name = (name_), .title = (title_), .unit = FIGURE_UNIT_##unit_, \
	.when = FIGURE_WHEN_##when_, .text = (text_)
#define COST(id, name_, title_, unit_, source_, when_, text_, ...)                                 \
	[FIGURE_##id] = { ROW(id, name_, title_, unit_, when_, text_), source_, .what = COST_##id, \
			  .places = { __VA_ARGS__ } },
#define FIGURE(id, name_, title_, unit_, source_, when_, text_, ...)            \
	[FIGURE_##id] = { ROW(id, name_, title_, unit_, when_, text_), source_, \
			  .places = { __VA_ARGS__ } },
#include "figures/figures.def"
};

static const enum figure of_costs[_COST_MAX] = {
#define COST(id, ...) [COST_##id] = FIGURE_##id,
#define FIGURE(id, ...)
#include "figures/figures.def"
};

static bool is_before(enum figure a, enum figure b, enum figure_view view)
{
	const struct figure_place *first = &figure_infos[a].places[view],
				  *second = &figure_infos[b].places[view];

	return first->place != second->place ? first->place < second->place : a < b;
}

size_t figures_of_view(enum figure_view view, enum figure ret_figures[static _FIGURE_MAX])
{
	size_t count = 0, at;

	for (enum figure figure = 0; figure < _FIGURE_MAX; figure++) {
		if (figure_infos[figure].places[view].place == 0)
			continue;
		for (at = count++; at > 0 && is_before(figure, ret_figures[at - 1], view); at--)
			ret_figures[at] = ret_figures[at - 1];
		ret_figures[at] = figure;
	}
	return count;
}

int figure_find(const char *name, enum figure *ret_figure)
{
	for (enum figure figure = 0; figure < _FIGURE_MAX; figure++) {
		if (strcmp(figure_infos[figure].name, name) == 0) {
			*ret_figure = figure;
			return 0;
		}
	}
	return -EINVAL;
}

void figure_list(figure_fn is_wanted, const void *context, char *ret_text, size_t text_bytes)
{
	struct text_writer writer;

	text_writer_init(&writer, ret_text, text_bytes);
	for (enum figure figure = 0; figure < _FIGURE_MAX; figure++) {
		if (!is_wanted(figure, context))
			continue;
		text_writer_put(&writer, ", ", writer.length_bytes > 0 ? 2 : 0);
		text_writer_put(&writer, figure_infos[figure].name,
				strlen(figure_infos[figure].name));
	}
}

const char *figure_unit_name(enum figure_unit unit)
{
	static const char *const names[] = {
		[FIGURE_UNIT_TEXT] = "text", [FIGURE_UNIT_COUNT] = "count",
		[FIGURE_UNIT_NS] = "ns",     [FIGURE_UNIT_PERCENT] = "percent",
		[FIGURE_UNIT_RATE] = "rate", [FIGURE_UNIT_TIME] = "time",
	};

	return names[unit];
}

bool figure_cost(enum figure figure, enum cost *ret_cost)
{
	if (figure_infos[figure].source != FIGURE_SOURCE_COST)
		return false;
	*ret_cost = (enum cost)figure_infos[figure].what;
	return true;
}

enum figure figure_of_cost(enum cost cost)
{
	return of_costs[cost];
}

enum figure figure_of_request(enum request_cost cost)
{
	static const enum figure of_one[_REQUEST_COST_MAX] = {
		[REQUEST_CPU] = FIGURE_CPU,
		[REQUEST_WALL] = FIGURE_WALL,
		[REQUEST_PARKED] = FIGURE_PARKED,
	};

	return of_one[cost];
}

bool figure_part(enum figure figure, size_t *ret_part)
{
	if (figure_infos[figure].source != FIGURE_SOURCE_KEY)
		return false;
	*ret_part = (size_t)figure_infos[figure].what;
	return true;
}

bool figure_is_of_requests(enum figure figure)
{
	enum figure_source source = figure_infos[figure].source;

	return source == FIGURE_SOURCE_OF_REQUESTS || source == FIGURE_SOURCE_MEAN ||
	       source == FIGURE_SOURCE_PERCENTILE;
}
