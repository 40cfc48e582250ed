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
#include "recorder/metrics/metrics_writer.h"
#include "recorder/metrics/requests_text.h"

static void put_own_seconds(const struct metrics_writer *writer, const char *name, const char *help,
			    uint64_t ns)
{
	const char *suffix =
		metrics_writer_begin(writer, OPENMETRICS_COUNTER, name, "seconds", help);

	(void)fprintf(writer->file, METRICS_PREFIX "%s%s ", name, suffix);
	metrics_writer_put_seconds(writer->file, (int64_t)ns);
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
static void put_process(const struct metrics_writer *writer, const struct process_family *family,
			const char *pid, const struct metrics_process *process)
{
	int64_t figure;

	if (family->is_cost && !cost_counters_has(&process->costs, family->cost))
		return;
	memcpy(&figure, (const char *)process + family->offset, sizeof(figure));
	(void)fprintf(writer->file, METRICS_PREFIX "%s%s{pid=\"%s\",comm=\"", family->name,
		      family->type == OPENMETRICS_COUNTER ? "_total" : "", pid);
	openmetrics_put_label(writer->file, process->comm);
	(void)fputs("\"} ", writer->file);
	if (family->unit)
		metrics_writer_put_seconds(writer->file, figure);
	else
		(void)fprintf(writer->file, "%" PRId64 "\n", figure);
}

static void put_family(const struct metrics_writer *writer, const struct metrics *metrics,
		       const struct process_family *family)
{
	char pid[16];

	(void)metrics_writer_begin(writer, family->type, family->name, family->unit, family->help);
	for (size_t i = 0; i < metrics->process_count; i++) {
		const struct metrics_process *process = &metrics->processes[i];

		(void)snprintf(pid, sizeof(pid), "%" PRIu32, process->pid);
		put_process(writer, family, pid, process);
	}
	put_process(writer, family, "others", &metrics->others);
	put_process(writer, family, "ended", &metrics->ended);
}

static void put_processes(const struct metrics_writer *writer, const struct metrics *metrics)
{
	struct cost_family costs[_COST_MAX];
	size_t count = cost_families("process", costs);

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

static void put_losses(const struct metrics_writer *writer, const struct metrics *metrics)
{
	static const char *const names[_COUNTER_MAX] = {
#define COUNTER_FIELD(name, field, kind, text) [COUNTER_##name] = field,
		COUNTER_LIST(COUNTER_FIELD)
#undef COUNTER_FIELD
	};

	(void)metrics_writer_begin(writer, OPENMETRICS_COUNTER, "losses", NULL,
				   "What was missed, by the counter of the balance records.");
	for (size_t i = 0; i < _COUNTER_MAX; i++)
		(void)fprintf(writer->file,
			      METRICS_PREFIX "losses_total{counter=\"%s\"} %" PRIu64 "\n", names[i],
			      metrics->losses[i]);
}

static void put_fill(const struct metrics_writer *writer, const char *name, const char *limit_name,
		     const char *help, const struct self_fill *fill)
{
	if (!fill->limit)
		return;
	metrics_writer_put_count(writer, OPENMETRICS_GAUGE, name, NULL, help, fill->used);
	metrics_writer_put_count(writer, OPENMETRICS_GAUGE, limit_name, NULL, "Room for them.",
				 fill->limit);
}

static void put_self(const struct metrics_writer *writer, const struct metrics *metrics)
{
	metrics_writer_put_count(writer, OPENMETRICS_COUNTER, "windows", NULL, "Windows measured.",
				 metrics->windows);
	put_own_seconds(writer, "own_cpu_seconds", "CPU of Correlator's own processes.",
			metrics->own_cpu_ns);
	if (metrics->has_programs)
		put_own_seconds(writer, "own_programs_seconds",
				"CPU of the programs in the kernel; estimated, but with --measure.",
				metrics->programs_ns);
	if (metrics->own_rss_bytes)
		metrics_writer_put_count(writer, OPENMETRICS_GAUGE, "own_resident_memory_bytes",
					 "bytes", "Memory of Correlator's own process.",
					 metrics->own_rss_bytes);
	put_fill(writer, "contexts", "contexts_limit", "Contexts in the kernel map.",
		 &metrics->contexts);
	put_fill(writer, "accounts", "accounts_limit", "Accounts of the last window.",
		 &metrics->accounts);
	put_fill(writer, "processes", "processes_limit", "Processes observed.", &metrics->observed);
}

static void put_output(const struct metrics_writer *writer, const struct metrics *metrics)
{
	metrics_writer_put_count(writer, OPENMETRICS_COUNTER, "output_dropped_records", NULL,
				 "Records not written to the file or pipe for want of room.",
				 metrics->output_dropped_records);
	metrics_writer_put_count(writer, OPENMETRICS_COUNTER, "output_failures", NULL,
				 "Writes to it that failed.", metrics->output_failures);
	metrics_writer_put_count(writer, OPENMETRICS_GAUGE, "output_waiting_bytes", "bytes",
				 "What waits to be written to it.", metrics->output_waiting_bytes);
}

static void put_backlog(const struct metrics_writer *writer, const struct backlog_status *backlog)
{
	metrics_writer_put_count(writer, OPENMETRICS_GAUGE, "backlog_records", NULL,
				 "Records that wait to be sent.", backlog->queued_records);
	metrics_writer_put_count(writer, OPENMETRICS_GAUGE, "backlog_bytes", "bytes", "Their size.",
				 backlog->queued_bytes);
	metrics_writer_put_count(writer, OPENMETRICS_GAUGE, "backlog_memory_bytes", "bytes",
				 "Memory in use for those that wait there.", backlog->memory_bytes);
	metrics_writer_put_count(writer, OPENMETRICS_GAUGE, "spool_bytes", "bytes",
				 "What waits on disk.", backlog->store_bytes);
}

static void put_forward(const struct metrics_writer *writer, const struct metrics *metrics)
{
	const struct sender_status *sender = &metrics->sender;
	const struct backlog_status *backlog = &metrics->backlog;

	metrics_writer_put_count(writer, OPENMETRICS_COUNTER, "forward_sent_chunks", NULL,
				 "Chunks sent to a collector, each try.", sender->sent_chunks);
	metrics_writer_put_count(writer, OPENMETRICS_COUNTER, "forward_resent_chunks", NULL,
				 "Tries of a chunk after its first.", sender->resent_chunks);
	metrics_writer_put_count(writer, OPENMETRICS_COUNTER, "forward_acked_chunks", NULL,
				 "Chunks that a collector has acknowledged; with --no-ack, sent.",
				 sender->acked_chunks);
	metrics_writer_put_count(writer, OPENMETRICS_COUNTER, "forward_acked_records", NULL,
				 "The records in them.", sender->acked_records);
	metrics_writer_put_count(writer, OPENMETRICS_COUNTER, "forward_acked_bytes", "bytes",
				 "The size of these records.", sender->acked_bytes);
	metrics_writer_put_count(writer, OPENMETRICS_COUNTER, "forward_rejected_records", NULL,
				 "Records that no collector took: set aside in the spool, or lost.",
				 sender->rejected_records);
	metrics_writer_put_count(
		writer, OPENMETRICS_COUNTER, "forward_dropped_records", NULL,
		"Records dropped: there was no more room for them, or they were damaged.",
		backlog->dropped_records);
	put_family(writer, metrics, &dropped_family);
	metrics_writer_put_count(writer, OPENMETRICS_COUNTER, "forward_failures", NULL,
				 "Tries that ended without an acknowledgement.", sender->failures);
	metrics_writer_put_count(writer, OPENMETRICS_GAUGE, "forward_delivering", NULL,
				 "1 if the last try was acknowledged.", sender->is_delivering);
	put_backlog(writer, backlog);
	if (sender->last_failure == FAILURE_NONE)
		return;
	(void)metrics_writer_begin(writer, OPENMETRICS_GAUGE, "forward_last_failure", NULL,
				   "Kind of the last failure.");
	(void)fprintf(writer->file, METRICS_PREFIX "forward_last_failure{kind=\"%s\"} 1\n",
		      failure_kind_name(sender->last_failure));
}

static void put_build(const struct metrics_writer *writer, const struct metrics *metrics)
{
	bool is_classic = writer->format == METRICS_FORMAT_CLASSIC;

	(void)fprintf(writer->file,
		      "# HELP " METRICS_PREFIX "build%s Version of the tool.\n"
		      "# TYPE " METRICS_PREFIX "build%s %s\n" METRICS_PREFIX
		      "build_info{version=\"%s\"} 1\n",
		      is_classic ? "_info" : "", is_classic ? "_info" : "",
		      is_classic ? "gauge" : "info", metrics->tool_version);
	(void)metrics_writer_begin(writer, OPENMETRICS_GAUGE, "start_time_seconds", "seconds",
				   "When it began to measure, since 1970.");
	(void)fputs(METRICS_PREFIX "start_time_seconds ", writer->file);
	metrics_writer_put_seconds(writer->file, (int64_t)metrics->start_wall_ns);
}

int metrics_text(const struct metrics *metrics, enum metrics_format format, char **ret_text,
		 size_t *ret_size_bytes)
{
	_cleanup_free_ char *text = NULL;
	size_t size_bytes = 0;
	struct metrics_writer writer = { open_memstream(&text, &size_bytes), format };
	bool has_failed;

	if (!writer.file)
		return -ENOMEM;
	put_build(&writer, metrics);
	put_processes(&writer, metrics);
	if (metrics->requests)
		requests_text_put(&writer, metrics->requests);
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
