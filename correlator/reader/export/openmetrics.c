/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/openmetrics.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/display.h"
#include "base/openmetrics.h"
#include "reader/aggregate/rows.h"

enum {
	LABEL_BYTES = 4 * RECORD_VIEW_TEXT_BYTES_MAX + 1
};

static const struct {
	enum cost cost;
	const char *name;
	const char *unit; /* NULL: a number of things */
	const char *help;
} families[] = {
	{ COST_CPU, "correlator_cpu_seconds", "seconds", "On a CPU." },
	{ COST_USER, "correlator_user_seconds", "seconds", "The part of it in user mode." },
	{ COST_KERNEL, "correlator_kernel_seconds", "seconds", "The part of it in the kernel." },
	{ COST_RUN_QUEUE, "correlator_run_queue_seconds", "seconds",
	  "Runnable, waiting for a CPU." },
	{ COST_BLOCKED, "correlator_blocked_seconds", "seconds", "Asleep of its own accord." },
	{ COST_UNINTERRUPTIBLE, "correlator_uninterruptible_seconds", "seconds",
	  "The part of it in uninterruptible sleep." },
	{ COST_GVL, "correlator_gvl_seconds", "seconds",
	  "The part of run queue and blocked in which it waited for Ruby's GVL." },
	{ COST_GC, "correlator_gc_seconds", "seconds",
	  "The part of the CPU time in which it collected garbage." },
	{ COST_GC_RUNS, "correlator_gc_runs", NULL, "Garbage collections that it set off." },
	{ COST_STOLEN, "correlator_stolen_seconds", "seconds",
	  "On a CPU by the clock, but taken by the hypervisor or interrupts." },
	{ COST_SYSCALLS, "correlator_syscalls", NULL, "Calls of the kernel." },
	{ COST_SWITCHES, "correlator_switches", NULL, "Switches to another thread." },
};

static const struct {
	enum figure figure;
	const char *name;
	const char *help;
} summaries[] = {
	{ FIGURE_CPU, "correlator_request_cpu_seconds", "CPU of each request, as a whole." },
	{ FIGURE_WALL, "correlator_request_wall_seconds",
	  "Time of each request from its first activity to its last." },
	{ FIGURE_PARKED, "correlator_request_parked_seconds",
	  "The part of it in which the request was on no thread." },
};

int openmetrics_init(struct openmetrics *openmetrics, const char *by, struct filter *filter)
{
	int r = totals_init(&openmetrics->totals, by ? &by : NULL, 1);

	if (r < 0)
		return r;
	openmetrics->totals.filter = *filter;
	*filter = (struct filter){ 0 };
	return 0;
}

void openmetrics_deinit(struct openmetrics *openmetrics)
{
	totals_deinit(&openmetrics->totals);
}

/* The name of a label has letters, digits and '_' alone. */
static void put_label_name(FILE *out, const char *key)
{
	if (*key >= '0' && *key <= '9')
		(void)fputc('_', out);
	for (; *key; key++) {
		bool is_letter = (*key >= 'a' && *key <= 'z') || (*key >= 'A' && *key <= 'Z');

		(void)fputc(is_letter || (*key >= '0' && *key <= '9') ? *key : '_', out);
	}
}

/* {row="group",endpoint="GET /"; the caller closes it. */
static void put_labels(FILE *out, const struct rows *rows, const struct row *row)
{
	char label[LABEL_BYTES];

	(void)fprintf(out, "{row=\"%s\"", rows_kind_name(row->kind));
	if (!row->group)
		return;
	(void)display_escape(row->group->value, row->group->value_bytes, label, sizeof(label));
	(void)fputc(',', out);
	/* A key may be called as the label before it. */
	if (strcmp(rows->grouping->by, "row") == 0 || strcmp(rows->grouping->by, "quantile") == 0)
		(void)fputs("key_", out);
	put_label_name(out, rows->grouping->by);
	(void)fputs("=\"", out);
	openmetrics_put_label(out, label);
	(void)fputc('"', out);
}

/* The end of a sample: when it was. */
static void put_time(FILE *out, const struct rows *rows)
{
	(void)fputc(' ', out);
	openmetrics_put_seconds(out, (int64_t)(rows->totals->recording.end_ns & INT64_MAX));
	(void)fputc('\n', out);
}

static void put_costs(FILE *out, const struct rows *rows, size_t family)
{
	const char *suffix =
		openmetrics_begin(out, false, OPENMETRICS_COUNTER, families[family].name,
				  families[family].unit, families[family].help);

	/* The total is what they add up to. */
	for (size_t i = 0; i + 1 < rows_count(rows) && !ferror(out); i++) {
		struct row row = rows_at(rows, i);

		if (!costs_has(row.costs, families[family].cost))
			continue;
		(void)fprintf(out, "%s%s", families[family].name, suffix);
		put_labels(out, rows, &row);
		(void)fputs("} ", out);
		if (families[family].unit)
			openmetrics_put_seconds(out, row.costs->sums[families[family].cost]);
		else
			(void)fprintf(out, "%" PRId64, row.costs->sums[families[family].cost]);
		put_time(out, rows);
	}
}

static void put_distribution(FILE *out, const struct rows *rows, const struct row *row,
			     size_t summary)
{
	static const struct {
		double percent;
		const char *quantile;
	} parts[] = { { 50, "0.5" }, { 90, "0.9" }, { 99, "0.99" }, { 100, "1.0" } };
	const char *name = summaries[summary].name;
	const struct histogram *histogram = &row->requests->figures[summaries[summary].figure];
	int64_t value;

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

static void put_summaries(FILE *out, const struct rows *rows, size_t summary)
{
	(void)openmetrics_begin(out, false, OPENMETRICS_SUMMARY, summaries[summary].name, "seconds",
				summaries[summary].help);
	for (size_t i = 0; i + 1 < rows_count(rows) && !ferror(out); i++) {
		struct row row = rows_at(rows, i);

		if (row.requests)
			put_distribution(out, rows, &row, summary);
	}
}

static void put_requests(FILE *out, const struct rows *rows)
{
	const char *name = "correlator_requests";
	const char *suffix = openmetrics_begin(out, false, OPENMETRICS_COUNTER, name, NULL,
					       "Requests, each where it was last.");

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

int openmetrics_print(struct openmetrics *openmetrics, FILE *out)
{
	struct rows rows;
	int r = totals_finish(&openmetrics->totals);

	if (r == 0)
		r = rows_init(&rows, &openmetrics->totals, &openmetrics->totals.groupings[0],
			      ROW_FIELD_KEY, 0);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		put_costs(out, &rows, i);
	put_requests(out, &rows);
	for (size_t i = 0; i < sizeof(summaries) / sizeof(summaries[0]); i++)
		put_summaries(out, &rows, i);
	(void)fputs("# EOF\n", out);
	rows_deinit(&rows);
	return 0;
}
