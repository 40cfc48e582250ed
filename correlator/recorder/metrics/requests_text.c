/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/metrics/requests_text.h"

#include <inttypes.h>

#include "figures/figure.h"

/* Writes a sample's name and the label of its series; the caller closes it: "}, or with another. */
static void put_series(FILE *file, const char *name, const char *suffix,
		       const struct request_figures *figures, const struct request_series *series)
{
	(void)fprintf(file, METRICS_PREFIX "%s%s{%s=\"", name, suffix, figures->label);
	openmetrics_put_label(file, series->value);
}

/* Buckets are cumulative. */
static void put_histogram(FILE *file, const char *name, const struct request_figures *figures,
			  const struct request_series *series,
			  const struct metrics_histogram *histogram)
{
	static const char *const samples[] = { "_count", "_sum" };
	uint64_t sum = 0;

	for (int i = 0; i < METRICS_BUCKETS; i++) {
		sum += histogram->counts[i];
		put_series(file, name, "_bucket", figures, series);
		(void)fprintf(file, "\",le=\"%s\"} %" PRIu64 "\n", metrics_buckets[i].seconds, sum);
	}
	for (int i = 0; i < 2; i++) {
		put_series(file, name, samples[i], figures, series);
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
	put_series(writer->file, name, "_total", figures, series);
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

static void put_waits(const struct metrics_writer *writer, const struct request_figures *figures,
		      const char *names[2], const char *helps[2], size_t offset)
{
	for (int is_sum = 0; is_sum <= 1; is_sum++) {
		const char *unit = is_sum ? "seconds" : NULL;

		(void)metrics_writer_begin(writer, OPENMETRICS_COUNTER, names[is_sum], unit,
					   helps[is_sum]);
		for (size_t i = 0; i < figures->series_count; i++) {
			const struct request_series *series = &figures->series[i];
			const struct metrics_waits *waits =
				(const void *)((const char *)series + offset);

			put_sum(writer, names[is_sum], unit, figures, series,
				(int64_t)(is_sum ? waits->sum_ns : waits->count));
		}
	}
}

static void put_stalls(const struct metrics_writer *writer, const struct request_figures *figures)
{
	put_waits(writer, figures, (const char *[]){ "request_stalls", "request_stall_seconds" },
		  (const char *[]){ "Long waits (--stall).", "How long they were." },
		  offsetof(struct request_series, stalls));
	put_waits(writer, figures, (const char *[]){ "request_hogs", "request_hog_seconds" },
		  (const char *[]){ "Times that a fiber kept its thread for long (--stall).",
				    "How long it kept it." },
		  offsetof(struct request_series, hogs));
}

/* A sample for each kind of file that the requests of a value used. */
static void put_io(const struct metrics_writer *writer, const struct request_figures *figures)
{
	static const char *const ons[_IO_ON_MAX] = {
#define IO_NAME(ON, on) [IO_ON_##ON] = #on,
		IO_ONS(IO_NAME)
#undef IO_NAME
	};
	static const struct {
		const char *name;
		const char *unit;
		const char *help;
		size_t offset;
	} families[] = {
		{ "request_io_calls", NULL, "Reads, writes and connects (--io).",
		  offsetof(struct metrics_io, calls) },
		{ "request_io_in_bytes", "bytes", "Read or received by these.",
		  offsetof(struct metrics_io, in_bytes) },
		{ "request_io_out_bytes", "bytes", "Written or sent by these.",
		  offsetof(struct metrics_io, out_bytes) },
	};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		(void)metrics_writer_begin(writer, OPENMETRICS_COUNTER, families[i].name,
					   families[i].unit, families[i].help);
		for (size_t j = 0; j < figures->series_count * _IO_ON_MAX; j++) {
			const struct request_series *series = &figures->series[j / _IO_ON_MAX];
			const struct metrics_io *io = &series->io[j % _IO_ON_MAX];

			if (io->calls == 0)
				continue;
			put_series(writer->file, families[i].name, "_total", figures, series);
			(void)fprintf(writer->file, "\",io_on=\"%s\"} %" PRIu64 "\n",
				      ons[j % _IO_ON_MAX],
				      *(const uint64_t *)((const char *)io + families[i].offset));
		}
	}
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
	if (figures->has_stalls)
		put_stalls(writer, figures);
	if (figures->has_io)
		put_io(writer, figures);
}
