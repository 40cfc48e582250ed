/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/metrics/metrics_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/counters.h>

#include "base/cleanup.h"
#include "base/openmetrics.h"
#include "figures/figure.h"

enum {
	NAME_BYTES = 128
};

struct writer {
	FILE *file;
	enum metrics_format format;
};

#define PREFIX "correlator_"

static const char *begin(const struct writer *writer, enum openmetrics_type type, const char *name,
			 const char *unit, const char *help)
{
	char full_name[NAME_BYTES];

	(void)snprintf(full_name, sizeof(full_name), PREFIX "%s", name);
	return openmetrics_begin(writer->file, writer->format == METRICS_FORMAT_CLASSIC, type,
				 full_name, unit, help);
}

static void put_count(const struct writer *writer, enum openmetrics_type type, const char *name,
		      const char *unit, const char *help, uint64_t value)
{
	const char *suffix = begin(writer, type, name, unit, help);

	(void)fprintf(writer->file, PREFIX "%s%s %" PRIu64 "\n", name, suffix, value);
}

static void put_seconds(FILE *file, int64_t ns)
{
	openmetrics_put_seconds(file, ns);
	(void)fputc('\n', file);
}

static void put_own_seconds(const struct writer *writer, const char *name, const char *help,
			    uint64_t ns)
{
	const char *suffix = begin(writer, OPENMETRICS_COUNTER, name, "seconds", help);

	(void)fprintf(writer->file, PREFIX "%s%s ", name, suffix);
	put_seconds(writer->file, (int64_t)ns);
}

struct process_family {
	const char *name;
	const char *unit; /* NULL = a count */
	size_t offset; /* of the figure in struct metrics_process, 64 bits; ns, or the count */
	enum openmetrics_type type;
	const char *help;
	bool is_cost;
	enum cost cost; /* if it is one; it may be unmeasured */
};

#define BOOK(field, type_, help_)                                                        \
	{                                                                                \
		.name = "process_" #field "_seconds", .unit = "seconds",                 \
		.offset = offsetof(struct metrics_process, field##_ns), .type = (type_), \
		.help = (help_),                                                         \
	}

static const struct process_family families[] = {
	BOOK(exec, OPENMETRICS_COUNTER, "On a CPU, as the kernel says."),
	BOOK(attributed, OPENMETRICS_COUNTER, "The part of it in a context."),
	BOOK(unattributed, OPENMETRICS_COUNTER, "The part of it in no context."),
	BOOK(overflow, OPENMETRICS_COUNTER,
	     "The part of it whose context a full map could not tell."),
	BOOK(residual, OPENMETRICS_GAUGE,
	     "What the books miss of the kernel's figure, since the start."),
};

static const struct process_family dropped_family = {
	.name = "forward_process_dropped_records",
	.offset = offsetof(struct metrics_process, dropped_records),
	.type = OPENMETRICS_COUNTER,
	.help = "The part of these that gap records have told of, by process.",
};

/* Writes one line of a family: the figure of one process, if it was measured. */
static void put_process(const struct writer *writer, const struct process_family *family,
			const char *pid, const struct metrics_process *process)
{
	int64_t figure;

	if (family->is_cost && !cost_counters_has(&process->costs, family->cost))
		return;
	memcpy(&figure, (const char *)process + family->offset, sizeof(figure));
	(void)fprintf(writer->file, PREFIX "%s%s{pid=\"%s\",comm=\"", family->name,
		      family->type == OPENMETRICS_COUNTER ? "_total" : "", pid);
	openmetrics_put_label(writer->file, process->comm);
	(void)fputs("\"} ", writer->file);
	if (family->unit)
		put_seconds(writer->file, figure);
	else
		(void)fprintf(writer->file, "%" PRId64 "\n", figure);
}

static void put_family(const struct writer *writer, const struct metrics *metrics,
		       const struct process_family *family)
{
	char pid[16];

	(void)begin(writer, family->type, family->name, family->unit, family->help);
	for (size_t i = 0; i < metrics->process_count; i++) {
		const struct metrics_process *process = &metrics->processes[i];

		(void)snprintf(pid, sizeof(pid), "%" PRIu32, process->pid);
		put_process(writer, family, pid, process);
	}
	put_process(writer, family, "others", &metrics->others);
	put_process(writer, family, "ended", &metrics->ended);
}

/* A counter of a cost: process_cpu_seconds, or of requests, request_cpu_seconds. */
struct cost_family {
	enum cost cost;
	char name[NAME_BYTES - sizeof(PREFIX)];
	const char *unit; /* NULL = a count */
	const char *help;
};

/* Returns how many. */
static size_t find_cost_families(const char *of, struct cost_family ret_families[static _COST_MAX])
{
	enum figure figures[_FIGURE_MAX];
	size_t count = figures_of_view(FIGURE_VIEW_METRICS, figures), found = 0;

	for (size_t i = 0; i < count; i++) {
		const struct figure_info *info = &figure_infos[figures[i]];
		struct cost_family *family = &ret_families[found];
		bool is_time = info->unit == FIGURE_UNIT_NS;

		if (!figure_cost(figures[i], &family->cost))
			continue;
		family->unit = is_time ? "seconds" : NULL;
		family->help = info->text;
		(void)snprintf(family->name, sizeof(family->name), "%s_%s%s", of, info->name,
			       is_time ? "_seconds" : "");
		found++;
	}
	return found;
}

static void put_processes(const struct writer *writer, const struct metrics *metrics)
{
	struct cost_family costs[_COST_MAX];
	size_t count = find_cost_families("process", costs);

	for (size_t i = 0; i < count; i++) {
		const struct process_family family = {
			.name = costs[i].name,
			.unit = costs[i].unit,
			.offset = offsetof(struct metrics_process, costs.sums[costs[i].cost]),
			.type = OPENMETRICS_COUNTER,
			.help = costs[i].help,
			.is_cost = true,
			.cost = costs[i].cost,
		};

		put_family(writer, metrics, &family);
	}
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		put_family(writer, metrics, &families[i]);
}

static void put_losses(const struct writer *writer, const struct metrics *metrics)
{
	static const char *const names[_COUNTER_MAX] = {
#define COUNTER_FIELD(name, field, kind, text) [COUNTER_##name] = field,
		COUNTER_LIST(COUNTER_FIELD)
#undef COUNTER_FIELD
	};

	(void)begin(writer, OPENMETRICS_COUNTER, "losses", NULL,
		    "What was missed, by the counter of the balance records.");
	for (size_t i = 0; i < _COUNTER_MAX; i++)
		(void)fprintf(writer->file, PREFIX "losses_total{counter=\"%s\"} %" PRIu64 "\n",
			      names[i], metrics->losses[i]);
}

static void put_fill(const struct writer *writer, const char *name, const char *limit_name,
		     const char *help, const struct self_fill *fill)
{
	if (!fill->limit)
		return;
	put_count(writer, OPENMETRICS_GAUGE, name, NULL, help, fill->used);
	put_count(writer, OPENMETRICS_GAUGE, limit_name, NULL, "Room for them.", fill->limit);
}

static void put_self(const struct writer *writer, const struct metrics *metrics)
{
	put_count(writer, OPENMETRICS_COUNTER, "windows", NULL, "Windows measured.",
		  metrics->windows);
	put_own_seconds(writer, "own_cpu_seconds", "CPU of Correlator's own processes.",
			metrics->own_cpu_ns);
	if (metrics->has_programs)
		put_own_seconds(writer, "own_programs_seconds",
				"CPU of the programs in the kernel; estimated, but with --measure.",
				metrics->programs_ns);
	if (metrics->own_rss_bytes)
		put_count(writer, OPENMETRICS_GAUGE, "own_resident_memory_bytes", "bytes",
			  "Memory of Correlator's own process.", metrics->own_rss_bytes);
	put_fill(writer, "contexts", "contexts_limit", "Contexts in the kernel map.",
		 &metrics->contexts);
	put_fill(writer, "accounts", "accounts_limit", "Accounts of the last window.",
		 &metrics->accounts);
	put_fill(writer, "processes", "processes_limit", "Processes observed.", &metrics->observed);
}

static void put_output(const struct writer *writer, const struct metrics *metrics)
{
	put_count(writer, OPENMETRICS_COUNTER, "output_dropped_records", NULL,
		  "Records not written to the file or pipe for want of room.",
		  metrics->output_dropped_records);
	put_count(writer, OPENMETRICS_COUNTER, "output_failures", NULL, "Writes to it that failed.",
		  metrics->output_failures);
	put_count(writer, OPENMETRICS_GAUGE, "output_waiting_bytes", "bytes",
		  "What waits to be written to it.", metrics->output_waiting_bytes);
}

static void put_backlog(const struct writer *writer, const struct backlog_status *backlog)
{
	put_count(writer, OPENMETRICS_GAUGE, "backlog_records", NULL,
		  "Records that wait to be sent.", backlog->queued_records);
	put_count(writer, OPENMETRICS_GAUGE, "backlog_bytes", "bytes", "Their size.",
		  backlog->queued_bytes);
	put_count(writer, OPENMETRICS_GAUGE, "backlog_memory_bytes", "bytes",
		  "Memory in use for those that wait there.", backlog->memory_bytes);
	put_count(writer, OPENMETRICS_GAUGE, "spool_bytes", "bytes", "What waits on disk.",
		  backlog->store_bytes);
}

static void put_forward(const struct writer *writer, const struct metrics *metrics)
{
	const struct sender_status *sender = &metrics->sender;
	const struct backlog_status *backlog = &metrics->backlog;

	put_count(writer, OPENMETRICS_COUNTER, "forward_sent_chunks", NULL,
		  "Chunks sent to a collector, each try.", sender->sent_chunks);
	put_count(writer, OPENMETRICS_COUNTER, "forward_resent_chunks", NULL,
		  "Tries of a chunk after its first.", sender->resent_chunks);
	put_count(writer, OPENMETRICS_COUNTER, "forward_acked_chunks", NULL,
		  "Chunks that a collector has acknowledged; with --no-ack, sent.",
		  sender->acked_chunks);
	put_count(writer, OPENMETRICS_COUNTER, "forward_acked_records", NULL,
		  "The records in them.", sender->acked_records);
	put_count(writer, OPENMETRICS_COUNTER, "forward_acked_bytes", "bytes",
		  "The size of these records.", sender->acked_bytes);
	put_count(writer, OPENMETRICS_COUNTER, "forward_rejected_records", NULL,
		  "Records that no collector took: set aside in the spool, or lost.",
		  sender->rejected_records);
	put_count(writer, OPENMETRICS_COUNTER, "forward_dropped_records", NULL,
		  "Records dropped: there was no more room for them, or they were damaged.",
		  backlog->dropped_records);
	put_family(writer, metrics, &dropped_family);
	put_count(writer, OPENMETRICS_COUNTER, "forward_failures", NULL,
		  "Tries that ended without an acknowledgement.", sender->failures);
	put_count(writer, OPENMETRICS_GAUGE, "forward_delivering", NULL,
		  "1 if the last try was acknowledged.", sender->is_delivering);
	put_backlog(writer, backlog);
	if (sender->last_failure == FAILURE_NONE)
		return;
	(void)begin(writer, OPENMETRICS_GAUGE, "forward_last_failure", NULL,
		    "Kind of the last failure.");
	(void)fprintf(writer->file, PREFIX "forward_last_failure{kind=\"%s\"} 1\n",
		      failure_kind_name(sender->last_failure));
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
		(void)fprintf(file, PREFIX "%s_bucket{%s=\"", name, figures->label);
		openmetrics_put_label(file, series->value);
		(void)fprintf(file, "\",le=\"%s\"} %" PRIu64 "\n", metrics_buckets[i].seconds, sum);
	}
	for (int i = 0; i < 2; i++) {
		(void)fprintf(file, PREFIX "%s%s{%s=\"", name, samples[i], figures->label);
		openmetrics_put_label(file, series->value);
		(void)fputs("\"} ", file);
		if (i == 0)
			(void)fprintf(file, "%" PRIu64 "\n", histogram->count);
		else
			put_seconds(file, (int64_t)histogram->sum_ns);
	}
}

/* A counter's sample. */
static void put_sum(const struct writer *writer, const char *name, const char *unit,
		    const struct request_figures *figures, const struct request_series *series,
		    int64_t sum)
{
	(void)fprintf(writer->file, PREFIX "%s_total{%s=\"", name, figures->label);
	openmetrics_put_label(writer->file, series->value);
	(void)fputs("\"} ", writer->file);
	if (unit)
		put_seconds(writer->file, sum);
	else
		(void)fprintf(writer->file, "%" PRId64 "\n", sum);
}

/* But cpu: that is the sum of its histogram. */
static void put_request_costs(const struct writer *writer, const struct request_figures *figures)
{
	struct cost_family costs[_COST_MAX];
	size_t count = find_cost_families("request", costs);

	for (size_t i = 0; i < count; i++) {
		const struct cost_family *of_cost = &costs[i];

		if (of_cost->cost == COST_CPU)
			continue;
		(void)begin(writer, OPENMETRICS_COUNTER, of_cost->name, of_cost->unit,
			    of_cost->help);
		for (size_t j = 0; j < figures->series_count; j++) {
			const struct request_series *series = &figures->series[j];

			if (cost_counters_has(&series->costs, of_cost->cost))
				put_sum(writer, of_cost->name, of_cost->unit, figures, series,
					series->costs.sums[of_cost->cost]);
		}
	}
	(void)begin(writer, OPENMETRICS_COUNTER, "request_parked_seconds", "seconds",
		    figure_infos[FIGURE_PARKED].text);
	for (size_t i = 0; i < figures->series_count; i++)
		put_sum(writer, "request_parked_seconds", "seconds", figures, &figures->series[i],
			figures->series[i].parked_ns);
}

static void put_requests(const struct writer *writer, const struct request_figures *figures)
{
	(void)begin(writer, OPENMETRICS_HISTOGRAM, "request_cpu_seconds", "seconds",
		    "CPU of each request that has ended.");
	for (size_t i = 0; i < figures->series_count; i++)
		put_histogram(writer->file, "request_cpu_seconds", figures, &figures->series[i],
			      &figures->series[i].cpu);
	(void)begin(writer, OPENMETRICS_HISTOGRAM, "request_wall_seconds", "seconds",
		    "Time of each from its first activity to its last.");
	for (size_t i = 0; i < figures->series_count; i++)
		put_histogram(writer->file, "request_wall_seconds", figures, &figures->series[i],
			      &figures->series[i].wall);
	put_request_costs(writer, figures);
}

static void put_build(const struct writer *writer, const struct metrics *metrics)
{
	bool is_classic = writer->format == METRICS_FORMAT_CLASSIC;

	(void)fprintf(writer->file,
		      "# HELP " PREFIX "build%s Version of the tool.\n"
		      "# TYPE " PREFIX "build%s %s\n" PREFIX "build_info{version=\"%s\"} 1\n",
		      is_classic ? "_info" : "", is_classic ? "_info" : "",
		      is_classic ? "gauge" : "info", metrics->tool_version);
	(void)begin(writer, OPENMETRICS_GAUGE, "start_time_seconds", "seconds",
		    "When it began to measure, since 1970.");
	(void)fputs(PREFIX "start_time_seconds ", writer->file);
	put_seconds(writer->file, (int64_t)metrics->start_wall_ns);
}

int metrics_text(const struct metrics *metrics, enum metrics_format format, char **ret_text,
		 size_t *ret_size_bytes)
{
	_cleanup_free_ char *text = NULL;
	size_t size_bytes = 0;
	struct writer writer = { open_memstream(&text, &size_bytes), format };
	bool has_failed;

	if (!writer.file)
		return -ENOMEM;
	put_build(&writer, metrics);
	put_processes(&writer, metrics);
	if (metrics->requests)
		put_requests(&writer, metrics->requests);
	put_losses(&writer, metrics);
	put_self(&writer, metrics);
	if (metrics->has_output)
		put_output(&writer, metrics);
	if (metrics->has_forward)
		put_forward(&writer, metrics);
	if (format == METRICS_FORMAT_OPENMETRICS)
		(void)fputs("# EOF\n", writer.file);
	has_failed = ferror(writer.file) != 0;
	if (fclose(writer.file) || has_failed)
		return -ENOMEM;
	*ret_text = TAKE_PTR(text);
	*ret_size_bytes = size_bytes;
	return 0;
}
