/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/metrics/requests_text.h"

#include <inttypes.h>

#include "figures/figure.h"

/* Buckets are cumulative. */
static void put_histogram(FILE *file, const char *name, const struct request_figures *figures,
			  const struct request_series *series,
			  const struct metrics_histogram *histogram)
{
	static const char *const samples[] = { "_count", "_sum" };
	uint64_t sum = 0;

	for (int i = 0; i < METRICS_BUCKETS; i++) {
		sum += histogram->counts[i];
		(void)fprintf(file, METRICS_PREFIX "%s_bucket{%s=\"", name, figures->label);
		openmetrics_put_label(file, series->value);
		(void)fprintf(file, "\",le=\"%s\"} %" PRIu64 "\n", metrics_buckets[i].seconds, sum);
	}
	for (int i = 0; i < 2; i++) {
		(void)fprintf(file, METRICS_PREFIX "%s%s{%s=\"", name, samples[i], figures->label);
		openmetrics_put_label(file, series->value);
		(void)fputs("\"} ", file);
		if (i == 0)
			(void)fprintf(file, "%" PRIu64 "\n", histogram->count);
		else
			metrics_writer_put_seconds(file, (int64_t)histogram->sum_ns);
	}
}

/* A counter's sample. */
static void put_sum(const struct metrics_writer *writer, const char *name, const char *unit,
		    const struct request_figures *figures, const struct request_series *series,
		    int64_t sum)
{
	(void)fprintf(writer->file, METRICS_PREFIX "%s_total{%s=\"", name, figures->label);
	openmetrics_put_label(writer->file, series->value);
	(void)fputs("\"} ", writer->file);
	if (unit)
		metrics_writer_put_seconds(writer->file, sum);
	else
		(void)fprintf(writer->file, "%" PRId64 "\n", sum);
}

/* But cpu: that is the sum of its histogram. */
static void put_request_costs(const struct metrics_writer *writer,
			      const struct request_figures *figures)
{
	struct cost_family families[_COST_MAX];
	size_t count = cost_families("request", families);

	for (size_t i = 0; i < count; i++) {
		const struct cost_family *family = &families[i];

		if (family->cost == COST_CPU)
			continue;
		(void)metrics_writer_begin(writer, OPENMETRICS_COUNTER, family->name, family->unit,
					   family->help);
		for (size_t j = 0; j < figures->series_count; j++) {
			const struct request_series *series = &figures->series[j];

			if (cost_counters_has(&series->costs, family->cost))
				put_sum(writer, family->name, family->unit, figures, series,
					series->costs.sums[family->cost]);
		}
	}
	(void)metrics_writer_begin(writer, OPENMETRICS_COUNTER, "request_parked_seconds", "seconds",
				   figure_infos[FIGURE_PARKED].text);
	for (size_t i = 0; i < figures->series_count; i++)
		put_sum(writer, "request_parked_seconds", "seconds", figures, &figures->series[i],
			figures->series[i].parked_ns);
}

void requests_text_put(const struct metrics_writer *writer, const struct request_figures *figures)
{
	(void)metrics_writer_begin(writer, OPENMETRICS_HISTOGRAM, "request_cpu_seconds", "seconds",
				   "CPU of each request that has ended.");
	for (size_t i = 0; i < figures->series_count; i++)
		put_histogram(writer->file, "request_cpu_seconds", figures, &figures->series[i],
			      &figures->series[i].cpu);
	(void)metrics_writer_begin(writer, OPENMETRICS_HISTOGRAM, "request_wall_seconds", "seconds",
				   "Time of each from its first activity to its last.");
	for (size_t i = 0; i < figures->series_count; i++)
		put_histogram(writer->file, "request_wall_seconds", figures, &figures->series[i],
			      &figures->series[i].wall);
	put_request_costs(writer, figures);
}
