/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/openmetrics_export.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/openmetrics.h"
#include "figures/figure.h"
#include "reader/aggregate/rows.h"
#include "reader/export/openmetrics_labels.h"

enum {
	NAME_BYTES = 64
};

int openmetrics_export_init(struct openmetrics_export *openmetrics, const char *by,
			    struct filter *filter)
{
	int r = totals_init(&openmetrics->totals, by ? &by : NULL, 1);

	if (r == 0)
		r = openmetrics_tallies_init(&openmetrics->tallies, by, filter);
	if (r < 0)
		return r;
	selection_take_filter(&openmetrics->totals.selection, filter);
	return 0;
}

void openmetrics_export_deinit(struct openmetrics_export *openmetrics)
{
	totals_deinit(&openmetrics->totals);
	openmetrics_tallies_deinit(&openmetrics->tallies);
}

int openmetrics_export_add(struct openmetrics_export *openmetrics, const struct record_view *record)
{
	int r = totals_add(&openmetrics->totals, record);

	if (r < 0)
		return r;
	return openmetrics_tallies_add(&openmetrics->tallies,
				       &openmetrics->totals.selection.recording, record);
}

/* The labels of a row; the caller closes them. */
static void put_labels(FILE *out, const struct rows *rows, const struct row *row)
{
	struct record_text value = { 0 };

	if (row->group)
		value = (struct record_text){ row->group->value, row->group->value_bytes };
	openmetrics_labels_begin(out, rows_kind_name(row->kind), rows->grouping->by,
				 row->group ? &value : NULL);
}

static void put_time(FILE *out, const struct rows *rows)
{
	openmetrics_labels_put_time(out, &rows->totals->selection.recording);
}

/* Names a metric family: correlator_cpu_seconds, or for requests correlator_request_cpu_seconds. */
static void name_family(const char *of, enum figure figure, char ret_name[static NAME_BYTES])
{
	(void)snprintf(ret_name, NAME_BYTES, "correlator_%s%s%s", of, figure_infos[figure].name,
		       figure_infos[figure].unit == FIGURE_UNIT_NS ? "_seconds" : "");
}

static void put_costs(FILE *out, const struct rows *rows, enum cost cost)
{
	enum figure figure = figure_of_cost(cost);
	bool is_time = figure_infos[figure].unit == FIGURE_UNIT_NS;
	char name[NAME_BYTES];
	const char *suffix;

	name_family("", figure, name);
	suffix = openmetrics_begin(out, false, OPENMETRICS_COUNTER, name,
				   is_time ? "seconds" : NULL, figure_infos[figure].text);
	/* Without the last row: the total is the sum of the others. */
	for (size_t i = 0; i + 1 < rows_count(rows) && !ferror(out); i++) {
		struct row row = rows_at(rows, i);

		if (!costs_has(row.costs, cost))
			continue;
		(void)fprintf(out, "%s%s", name, suffix);
		put_labels(out, rows, &row);
		(void)fputs("} ", out);
		if (is_time)
			openmetrics_put_seconds(out, row.costs->sums[cost]);
		else
			(void)fprintf(out, "%" PRId64, row.costs->sums[cost]);
		put_time(out, rows);
	}
}

static void put_distribution(FILE *out, const struct rows *rows, const struct row *row,
			     enum request_cost cost)
{
	static const struct {
		double percent;
		const char *quantile;
	} parts[] = { { 50, "0.5" }, { 90, "0.9" }, { 99, "0.99" }, { 100, "1.0" } };
	const struct histogram *histogram = &row->requests->costs[cost];
	char name[NAME_BYTES];
	int64_t value;

	name_family("request_", figure_of_request(cost), name);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!histogram_percentile(histogram, parts[i].percent, &value))
			return;
		(void)fputs(name, out);
		put_labels(out, rows, row);
		(void)fprintf(out, ",quantile=\"%s\"} ", parts[i].quantile);
		openmetrics_put_seconds(out, value);
		put_time(out, rows);
	}
	(void)fprintf(out, "%s_count", name);
	put_labels(out, rows, row);
	(void)fprintf(out, "} %" PRIu64, histogram->count);
	put_time(out, rows);
	(void)fprintf(out, "%s_sum", name);
	put_labels(out, rows, row);
	(void)fputs("} ", out);
	openmetrics_put_seconds(out, histogram->sum);
	put_time(out, rows);
}

static void put_summaries(FILE *out, const struct rows *rows, enum request_cost cost)
{
	enum figure figure = figure_of_request(cost);
	char name[NAME_BYTES];

	name_family("request_", figure, name);
	(void)openmetrics_begin(out, false, OPENMETRICS_SUMMARY, name, "seconds",
				figure_infos[figure].text);
	for (size_t i = 0; i + 1 < rows_count(rows) && !ferror(out); i++) {
		struct row row = rows_at(rows, i);

		if (row.requests)
			put_distribution(out, rows, &row, cost);
	}
}

static void put_requests(FILE *out, const struct rows *rows)
{
	char name[NAME_BYTES];
	const char *suffix;

	name_family("", FIGURE_REQUESTS, name);
	suffix = openmetrics_begin(out, false, OPENMETRICS_COUNTER, name, NULL,
				   figure_infos[FIGURE_REQUESTS].text);

	for (size_t i = 0; i + 1 < rows_count(rows) && !ferror(out); i++) {
		struct row row = rows_at(rows, i);

		if (row.request_count == 0)
			continue;
		(void)fprintf(out, "%s%s", name, suffix);
		put_labels(out, rows, &row);
		(void)fprintf(out, "} %" PRIu64, row.request_count);
		put_time(out, rows);
	}
}

int openmetrics_export_print(struct openmetrics_export *openmetrics, FILE *out)
{
	struct rows rows;
	int r = totals_finish(&openmetrics->totals);

	if (r == 0)
		r = rows_init(&rows, &openmetrics->totals, &openmetrics->totals.groupings[0],
			      FIGURE_KEY, 0);
	if (r < 0)
		return r;
	for (enum cost cost = 0; cost < _COST_MAX; cost++)
		put_costs(out, &rows, cost);
	put_requests(out, &rows);
	for (enum request_cost cost = 0; cost < _REQUEST_COST_MAX; cost++)
		put_summaries(out, &rows, cost);
	rows_deinit(&rows);
	r = openmetrics_tallies_print(&openmetrics->tallies, out);
	(void)fputs("# EOF\n", out);
	return r;
}
