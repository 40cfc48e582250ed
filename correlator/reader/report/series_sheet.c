/* SPDX-License-Identifier: GPL-2.0-only */
/* Costs over time, for programs. */
#include "reader/report/totals_view.h"

#include "reader/aggregate/series.h"
#include "reader/report/recording_json.h"
#include "reader/report/sheet_parts.h"

enum kind {
	KIND_STEP,
	KIND_GROUP, /* of a step; so are the next two */
	KIND_UNATTRIBUTED,
	KIND_OVERFLOW,
	KIND_LINE, /* a group over all steps */
	KIND_TOTAL,
	_KIND_MAX,
};

static const struct sheet_kind kinds[_KIND_MAX] = {
	[KIND_STEP] = { "step", "steps", false, SHEET_PART_OF_ALL },
	[KIND_GROUP] = { "group", "groups", true, SHEET_PART_OF_ALL },
	[KIND_UNATTRIBUTED] = { "unattributed", NULL, true, SHEET_PART_OF_ALL },
	[KIND_OVERFLOW] = { "overflow", NULL, true, SHEET_PART_OF_ALL },
	[KIND_LINE] = { "group", "groups", false, SHEET_PART_OF_DOCUMENTS },
	[KIND_TOTAL] = { "total", NULL, false, SHEET_PART_OF_ALL },
};

struct view {
	struct series series;
	struct sheet sheet;
	size_t start, end; /* these are indices of columns */
	size_t keys;
	size_t requests;
	size_t costs;
};

static void add_columns(struct view *view)
{
	struct sheet *sheet = &view->sheet;

	view->start = sheet_add(sheet, NULL, "start_ns");
	view->end = sheet_add(sheet, NULL, "end_ns");
	sheet->columns[view->start].is_inherited = true;
	sheet->columns[view->end].is_inherited = true;
	view->keys = sheet_add_keys(sheet, view->series.grouping);
	view->requests = sheet_add(sheet, NULL, "requests");
	view->costs = sheet_add_costs(sheet, NULL);
}

static void put_costs(struct view *view, const struct costs *costs, uint64_t request_count)
{
	if (request_count > 0)
		sheet_put(&view->sheet, view->requests, cell_integer((int64_t)request_count));
	sheet_put_costs(&view->sheet, view->costs, costs,
			&view->series.totals->selection.recording);
	sheet_end_row(&view->sheet);
}

static void put_group(struct view *view, enum kind kind, const struct series_cell *cell)
{
	const struct series *series = &view->series;

	sheet_row(&view->sheet, kind);
	sheet_put_keys(&view->sheet, view->keys, series->grouping, cell->group,
		       series->totals->selection.recording.has_several_hosts);
	put_costs(view, &cell->costs, cell->request_count);
}

/* Puts time of a step that belongs to no group. */
static void put_others(struct view *view, enum kind kind, const struct costs *costs)
{
	if (costs->record_count == 0)
		return;
	sheet_row(&view->sheet, kind);
	put_costs(view, costs, 0);
}

static void put_step(struct view *view, const struct series_step *step)
{
	sheet_row(&view->sheet, KIND_STEP);
	sheet_put(&view->sheet, view->start, cell_integer((int64_t)step->span.start_ns));
	sheet_put(&view->sheet, view->end, cell_integer((int64_t)step->span.end_ns));
	put_costs(view, &step->all, step->request_count);
	for (size_t i = step->cell_begin; i < step->cell_end && sheet_goes_on(&view->sheet); i++)
		put_group(view, KIND_GROUP, &view->series.cells[i]);
	put_others(view, KIND_UNATTRIBUTED, &step->unattributed);
	put_others(view, KIND_OVERFLOW, &step->overflow);
}

static void put_rows(struct view *view)
{
	const struct series *series = &view->series;
	const struct totals *totals = series->totals;

	for (size_t i = 0; i < series->step_count && sheet_goes_on(&view->sheet); i++)
		put_step(view, &series->steps[i]);
	for (size_t i = 0; i < series->line_count && sheet_goes_on(&view->sheet); i++)
		put_group(view, KIND_LINE, &series->lines[i]);
	sheet_row(&view->sheet, KIND_TOTAL);
	put_costs(view, &totals->all, totals->groupings[0].request_count);
	sheet_end_rows(&view->sheet);
}

int series_view_print(const struct totals *totals, const struct view_options *options, FILE *out)
{
	const struct grouping *grouping = &totals->groupings[0];
	struct view view;
	int r;

	if (options->format == FORMAT_TABLE)
		return series_text_print(totals, options, out);
	r = series_init(&view.series, totals, 0);
	if (r < 0)
		return r;
	sheet_init(&view.sheet, options->format, grouping->by, kinds, _KIND_MAX, out);
	if (grouping->step_ns > 0)
		sheet_member(&view.sheet, "step_ns", json_integer((json_int_t)grouping->step_ns));
	add_columns(&view);
	sheet_begin(&view.sheet);
	put_rows(&view);
	recording_json_add(&view.sheet, totals, options);
	series_deinit(&view.series);
	return sheet_finish(&view.sheet);
}
