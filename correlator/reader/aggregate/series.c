/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compare.h"

/* A group and the span of its step. */
struct placed {
	const struct group *group;
	struct grouping_span span;
};

static int compare_keys(const struct group *a, const struct group *b, size_t key_count)
{
	int order = 0;

	for (size_t i = 0; i < key_count && order == 0; i++)
		order = grouping_compare_part(a, b, i);
	return order;
}

static int compare_spans(struct grouping_span a, struct grouping_span b)
{
	int order = compare_u64(a.start_ns, b.start_ns);

	return order ? order : compare_u64(a.end_ns, b.end_ns);
}

static int compare_placed(const void *a, const void *b, void *context)
{
	const struct placed *first = a, *second = b;
	const struct grouping *grouping = context;
	int order = compare_spans(first->span, second->span);

	return order != 0 ? order : compare_keys(first->group, second->group, grouping->key_count);
}

static struct grouping_span widen(struct grouping_span span, uint64_t step_ns)
{
	uint64_t middle = span.start_ns + (span.end_ns - span.start_ns) / 2;

	if (step_ns == 0)
		return span;
	return (struct grouping_span){ middle - middle % step_ns,
				       middle - middle % step_ns + step_ns };
}

static struct placed *place_groups(const struct grouping *grouping, uint64_t step_ns)
{
	struct placed *placed = calloc(grouping->group_count + 1, sizeof(*placed));
	size_t count = 0;

	if (!placed)
		return NULL;
	for (const struct group *group = grouping->groups; group; group = group->hh.next)
		placed[count++] =
			(struct placed){ group, widen(grouping_span(grouping, group), step_ns) };
	qsort_r(placed, count, sizeof(*placed), compare_placed, (void *)grouping);
	return placed;
}

/* The cell for these keys in the last step: the last cell, or a new one. */
static struct series_cell *cell_of(struct series *series, const struct group *group)
{
	struct series_step *step = &series->steps[series->step_count - 1];
	struct series_cell *cell = &series->cells[series->cell_count];

	if (step->cell_end > step->cell_begin &&
	    compare_keys(cell[-1].group, group, series->grouping->key_count) == 0)
		return cell - 1;
	*cell = (struct series_cell){ .group = group, .step = series->step_count - 1 };
	step->cell_end = ++series->cell_count;
	return cell;
}

static void add(struct series *series, const struct group *group)
{
	struct series_step *step = &series->steps[series->step_count - 1];
	struct series_cell *cell;

	costs_add(&step->all, &group->costs);
	step->request_count += group->request_count;
	switch (grouping_attribution(series->grouping, group)) {
	case ATTRIBUTION_NONE:
	case ATTRIBUTION_UNKNOWN:
		costs_add(&step->unattributed, &group->costs);
		return;
	case ATTRIBUTION_OVERFLOW:
		costs_add(&step->overflow, &group->costs);
		return;
	default:
		cell = cell_of(series, group);
		costs_add(&cell->costs, &group->costs);
		cell->request_count += group->request_count;
	}
}

static void add_all(struct series *series, const struct placed *placed)
{
	for (size_t i = 0; i < series->grouping->group_count; i++) {
		if (i == 0 || compare_spans(placed[i].span, placed[i - 1].span) != 0)
			series->steps[series->step_count++] =
				(struct series_step){ .span = placed[i].span,
						      .cell_begin = series->cell_count,
						      .cell_end = series->cell_count };
		add(series, placed[i].group);
	}
}

static int compare_cells(const void *a, const void *b, void *context)
{
	const struct series_cell *const *first = a, *const *second = b;
	const struct grouping *grouping = context;

	return compare_keys((*first)->group, (*second)->group, grouping->key_count);
}

static int compare_lines(const void *a, const void *b, void *context)
{
	const struct series_cell *first = a, *second = b;
	const struct grouping *grouping = context;
	int order = compare_i64(second->costs.sums[COST_CPU], first->costs.sums[COST_CPU]);

	return order ? order : compare_keys(first->group, second->group, grouping->key_count);
}

/* Sums up the cells of each group; cells are sorted by group. */
static void sum_lines(struct series *series, struct series_cell *const *cells)
{
	for (size_t i = 0; i < series->cell_count; i++) {
		struct series_cell *line = &series->lines[series->line_count];

		if (i == 0 || compare_keys(cells[i]->group, cells[i - 1]->group,
					   series->grouping->key_count) != 0)
			series->lines[series->line_count++].group = cells[i]->group;
		else
			line--;
		costs_add(&line->costs, &cells[i]->costs);
		line->request_count += cells[i]->request_count;
		if (cells[i]->costs.sums[COST_CPU] > line->peak_ns)
			line->peak_ns = cells[i]->costs.sums[COST_CPU];
		cells[i]->line = (size_t)(line - series->lines);
	}
}

/* Sorts lines by CPU, and updates the line of each cell. */
static int sort_lines(struct series *series)
{
	size_t *places = calloc(series->line_count + 1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < series->line_count; i++)
		series->lines[i].line = i;
	qsort_r(series->lines, series->line_count, sizeof(*series->lines), compare_lines,
		(void *)series->grouping);
	for (size_t i = 0; i < series->line_count; i++)
		places[series->lines[i].line] = i;
	for (size_t i = 0; i < series->cell_count; i++)
		series->cells[i].line = places[series->cells[i].line];
	free(places);
	return 0;
}

static int make_lines(struct series *series)
{
	struct series_cell **cells = calloc(series->cell_count + 1, sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	for (size_t i = 0; i < series->cell_count; i++)
		cells[i] = &series->cells[i];
	qsort_r(cells, series->cell_count, sizeof(struct series_cell *), compare_cells,
		(void *)series->grouping);
	sum_lines(series, cells);
	free(cells);
	return sort_lines(series);
}

int series_init(struct series *series, const struct totals *totals, uint64_t step_ns)
{
	const struct grouping *grouping = &totals->groupings[0];
	size_t count = grouping->group_count + 1;
	struct placed *placed = place_groups(grouping, step_ns);
	int r = -ENOMEM;

	*series = (struct series){
		.totals = totals,
		.grouping = grouping,
		.steps = calloc(count, sizeof(struct series_step)),
		.cells = calloc(count, sizeof(struct series_cell)),
		.lines = calloc(count, sizeof(struct series_cell)),
	};
	if (placed && series->steps && series->cells && series->lines) {
		add_all(series, placed);
		r = make_lines(series);
	}
	free(placed);
	if (r < 0)
		series_deinit(series);
	return r;
}

void series_deinit(struct series *series)
{
	free(series->steps);
	free(series->cells);
	free(series->lines);
	*series = (struct series){ 0 };
}

/* Upper bound: the duration may begin in the middle of a step. */
static uint64_t count_steps(uint64_t duration_ns, uint64_t step_ns)
{
	return duration_ns / step_ns + (duration_ns % step_ns > 0) + 1;
}

uint64_t series_choose_step(const struct series *series, size_t steps_max)
{
	static const unsigned int seconds[] = { 1,    2,    5,	   10,	  15,	 30,
						60,   120,  300,   600,	  900,	 1800,
						3600, 7200, 10800, 21600, 43200, 86400 };
	uint64_t duration_ns, step_ns;
	size_t choice = 0;

	if (series->step_count <= steps_max)
		return 0;
	duration_ns =
		series->steps[series->step_count - 1].span.end_ns - series->steps[0].span.start_ns;
	while (choice < sizeof(seconds) / sizeof(seconds[0]) - 1 &&
	       count_steps(duration_ns, seconds[choice] * NS_PER_S) > steps_max)
		choice++;
	step_ns = seconds[choice] * NS_PER_S;
	while (count_steps(duration_ns, step_ns) > steps_max)
		step_ns *= 2;
	return step_ns;
}
