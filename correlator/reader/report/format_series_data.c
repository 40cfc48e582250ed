/* SPDX-License-Identifier: GPL-2.0-only */
/* Over time, for programs: JSON, a line of JSON for each row, and CSV. */
#include "reader/report/format.h"

#include <inttypes.h>

#include "reader/aggregate/series.h"
#include "reader/report/csv_part.h"
#include "reader/report/json_group.h"
#include "reader/report/json_part.h"

/* A step, a part of it, or the total. */
struct series_row {
	const char *name;
	const struct grouping_span *span; /* NULL: of all steps */
	const struct series_cell *cell; /* NULL: of no group */
	const struct costs *costs;
	uint64_t request_count;
};

typedef int (*row_fn)(const struct series *series, const struct series_row *row, void *context);

/* The rows of one step: itself, and its parts. */
static int for_each_of_step(const struct series *series, const struct series_step *step, row_fn fn,
			    void *context)
{
	struct series_row row = { "step", &step->span, NULL, &step->all, step->request_count };
	int r = fn(series, &row, context);

	for (size_t i = step->cell_begin; i < step->cell_end && r == 0; i++) {
		const struct series_cell *cell = &series->cells[i];

		row = (struct series_row){ "group", &step->span, cell, &cell->costs,
					   cell->request_count };
		r = fn(series, &row, context);
	}
	row = (struct series_row){ "unattributed", &step->span, NULL, &step->unattributed, 0 };
	if (r == 0 && step->unattributed.record_count > 0)
		r = fn(series, &row, context);
	row = (struct series_row){ "overflow", &step->span, NULL, &step->overflow, 0 };
	if (r == 0 && step->overflow.record_count > 0)
		r = fn(series, &row, context);
	return r;
}

static int for_each_row(const struct series *series, row_fn fn, FILE *out, void *context)
{
	const struct totals *totals = series->totals;
	const struct series_row total = { "total", NULL, NULL, &totals->all,
					  totals->groupings[0].request_count };
	int r = 0;

	for (size_t i = 0; i < series->step_count && r == 0 && !ferror(out); i++)
		r = for_each_of_step(series, &series->steps[i], fn, context);
	return r == 0 ? fn(series, &total, context) : r;
}

static int print_csv_row(const struct series *series, const struct series_row *row, void *context)
{
	FILE *out = context;

	(void)fputs(row->name, out);
	if (row->span)
		(void)fprintf(out, ",%" PRIu64 ",%" PRIu64, row->span->start_ns, row->span->end_ns);
	else
		(void)fputs(",,", out);
	for (size_t i = 0; i < series->grouping->key_count; i++) {
		(void)fputc(',', out);
		if (row->cell)
			csv_part_label(
				grouping_part(
					row->cell->group, i,
					series->totals->selection.recording.has_several_hosts),
				out);
	}
	(void)fputc(',', out);
	if (row->request_count > 0)
		(void)fprintf(out, "%" PRIu64, row->request_count);
	for (int cost = 0; cost < _COST_MAX; cost++)
		csv_part_cost(row->costs, (enum cost)cost, out);
	(void)fputs("\r\n", out);
	return 0;
}

int format_series_csv(const struct totals *totals, const struct format_options *options, FILE *out)
{
	struct series series;
	int r = series_init(&series, totals, 0);

	(void)options;
	if (r < 0)
		return r;
	(void)fputs("row,start_ns,end_ns", out);
	for (size_t i = 0; i < series.grouping->key_count; i++) {
		(void)fputc(',', out);
		csv_part_text(series.grouping->keys[i], out);
	}
	(void)fputs(",requests", out);
	for (int cost = 0; cost < _COST_MAX; cost++)
		(void)fprintf(out, ",%s", figure_infos[figure_of_cost((enum cost)cost)].field);
	(void)fputs("\r\n", out);
	r = for_each_row(&series, print_csv_row, out, out);
	series_deinit(&series);
	return r;
}

static json_t *describe(const struct series *series, const struct series_row *row, bool with_span,
			int *r)
{
	json_t *object = json_object();

	if (row->span && with_span) {
		json_part_set(object, "start_ns", json_integer((json_int_t)row->span->start_ns), r);
		json_part_set(object, "end_ns", json_integer((json_int_t)row->span->end_ns), r);
	}
	if (row->cell)
		json_group_keys(object, series->grouping, row->cell->group,
				series->totals->selection.recording.has_several_hosts, r);
	if (row->request_count > 0)
		json_part_set(object, "requests", json_integer((json_int_t)row->request_count), r);
	json_group_costs(object, row->costs, r);
	return object;
}

static int print_ndjson_row(const struct series *series, const struct series_row *row,
			    void *context)
{
	FILE *out = context;
	int r = 0;
	json_t *object = describe(series, row, true, &r);

	json_part_set(object, "row", json_part_text(row->name), &r);
	json_part_set(object, "by", json_part_text(series->grouping->by), &r);
	r = json_part_print("", object, r, out);
	(void)fputc('\n', out);
	return r;
}

int format_series_ndjson(const struct totals *totals, const struct format_options *options,
			 FILE *out)
{
	struct series series;
	int r = series_init(&series, totals, 0);

	(void)options;
	if (r < 0)
		return r;
	r = for_each_row(&series, print_ndjson_row, out, out);
	series_deinit(&series);
	return r;
}

/* Of one step, as it grows. */
struct json_step {
	json_t *object;
	json_t *groups;
};

static int add_json_row(const struct series *series, const struct series_row *row, void *context)
{
	struct json_step *step = context;
	int r = 0;
	json_t *object = describe(series, row, !step->object, &r);

	if (!step->object) {
		step->object = object;
		step->groups = json_array();
		json_part_set(object, "groups", step->groups, &r);
	} else if (row->cell) {
		json_part_append(step->groups, object, &r);
	} else {
		json_part_set(step->object, row->name, object, &r);
	}
	return r;
}

static int print_json_step(const struct series *series, size_t index, FILE *out)
{
	struct json_step step = { 0 };
	int r = for_each_of_step(series, &series->steps[index], add_json_row, &step);

	return json_part_print(index == 0 ? "\n" : ",\n", step.object, r, out);
}

static int print_json_lines(const struct series *series, FILE *out)
{
	int r = 0;

	(void)fputs("],\n\"groups\":[", out);
	for (size_t i = 0; i < series->line_count && r == 0 && !ferror(out); i++) {
		const struct series_cell *line = &series->lines[i];
		const struct series_row row = { "group", NULL, line, &line->costs,
						line->request_count };

		r = json_part_print(i == 0 ? "\n" : ",\n", describe(series, &row, false, &r), r,
				    out);
	}
	(void)fputs("]", out);
	return r;
}

int format_series_json(const struct totals *totals, const struct format_options *options, FILE *out)
{
	const struct series_row total = { "total", NULL, NULL, &totals->all,
					  totals->groupings[0].request_count };
	struct series series;
	int r = series_init(&series, totals, 0);

	if (r < 0)
		return r;
	r = json_part_print("{\"by\":", json_part_text(series.grouping->by), 0, out);
	if (r == 0 && series.grouping->step_ns > 0)
		(void)fprintf(out, ",\"step_ns\":%" PRIu64, series.grouping->step_ns);
	(void)fputs(",\n\"steps\":[", out);
	for (size_t i = 0; i < series.step_count && r == 0 && !ferror(out); i++)
		r = print_json_step(&series, i, out);
	if (r == 0)
		r = print_json_lines(&series, out);
	if (r == 0)
		r = json_part_print(",\n\"total\":", describe(&series, &total, false, &r), r, out);
	if (r == 0)
		r = format_json_rest(totals, options, out);
	if (r == 0)
		(void)fputs("}\n", out);
	series_deinit(&series);
	return r;
}
