/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/metrics/metrics.h"

#include <string.h>

#include "base/text.h"

void metrics_init(struct metrics *metrics, const char *tool_version, uint64_t start_wall_ns)
{
	*metrics = (struct metrics){ .tool_version = tool_version, .start_wall_ns = start_wall_ns };
}

static struct metrics_process *find(struct metrics *metrics, uint32_t pid)
{
	for (size_t i = 0; i < metrics->process_count; i++)
		if (metrics->processes[i].pid == pid)
			return &metrics->processes[i];
	return &metrics->others;
}

static void add(struct metrics_process *sum, const struct metrics_process *process)
{
	cost_counters_add_all(&sum->costs, &process->costs);
	sum->exec_ns += process->exec_ns;
	sum->attributed_ns += process->attributed_ns;
	sum->unattributed_ns += process->unattributed_ns;
	sum->overflow_ns += process->overflow_ns;
	sum->residual_ns += process->residual_ns;
	sum->dropped_records += process->dropped_records;
}

void metrics_set_pages(struct metrics *metrics, uint64_t pages)
{
	metrics->pages = pages;
}

void metrics_tell(struct metrics *metrics)
{
	for (size_t i = 0; i < metrics->process_count; i++) {
		struct metrics_process *process = &metrics->processes[i];

		if (!process->is_told)
			process->pages_before = metrics->pages;
		process->is_told = true;
	}
}

static void remove_process(struct metrics *metrics, struct metrics_process *process)
{
	*process = metrics->processes[--metrics->process_count];
}

static void end_process(struct metrics *metrics, struct metrics_process *process)
{
	if (process->is_told && metrics->pages > process->pages_before) {
		process->is_ended = true;
		process->ended_ns = metrics->now_ns;
		return;
	}
	add(&metrics->ended, process);
	remove_process(metrics, process);
}

/* A new place, or that of the process that ended first. NULL: all processes are alive. */
static struct metrics_process *find_place(struct metrics *metrics)
{
	struct metrics_process *oldest = NULL;

	if (metrics->process_count < METRICS_PROCESSES_MAX)
		return &metrics->processes[metrics->process_count++];
	for (size_t i = 0; i < metrics->process_count; i++) {
		struct metrics_process *process = &metrics->processes[i];

		if (process->is_ended && (!oldest || process->ended_ns < oldest->ended_ns))
			oldest = process;
	}
	return oldest;
}

static void forget_ended(struct metrics *metrics)
{
	for (size_t i = metrics->process_count; i-- > 0;) {
		struct metrics_process *process = &metrics->processes[i];

		if (process->is_ended && metrics->now_ns - process->ended_ns >= METRICS_ENDED_NS)
			remove_process(metrics, process);
	}
}

void metrics_add_process(struct metrics *metrics, const struct process_record *record)
{
	struct metrics_process *process = find(metrics, record->common.pid);

	if (record->event == PROCESS_EVENT_EXIT) {
		if (process != &metrics->others)
			end_process(metrics, process);
		return;
	}
	if (process == &metrics->others) {
		/* A process without a place stays without: its figures are part of others. */
		if (record->event == PROCESS_EVENT_EXEC)
			return;
		process = find_place(metrics);
		if (!process)
			return;
		*process = (struct metrics_process){ .pid = record->common.pid };
	} else if (process->is_ended) {
		*process = (struct metrics_process){ .pid = record->common.pid };
	}
	(void)text_escape(record->comm, strlen(record->comm), 0, process->comm,
			  sizeof(process->comm));
}

void metrics_add_cpu(struct metrics *metrics, const struct cpu_record *record)
{
	const struct costs costs = costs_of_written(record);

	cost_counters_add(&find(metrics, record->common.pid)->costs, &costs);
}

void metrics_add_balance(struct metrics *metrics, const struct balance_record *record)
{
	struct metrics_process window = {
		.exec_ns = record->exec_ns,
		.attributed_ns = record->attributed_ns,
		.unattributed_ns = record->unattributed_ns,
		.overflow_ns = record->overflow_ns,
		.residual_ns = record->residual_ns,
	};

	add(find(metrics, record->common.pid), &window);
	for (size_t i = 0; i < _COUNTER_MAX; i++)
		metrics->losses[i] += record->losses[i];
}

void metrics_add_gap(struct metrics *metrics, const struct gap_record *record)
{
	/* Otherwise the process is unknown. */
	if (record->process_dropped_records)
		find(metrics, record->common.pid)->dropped_records += record->dropped_records;
}

static void add_programs(struct metrics *metrics, const struct self_record *record)
{
	uint64_t sum_ns = 0;

	if (!record->has_programs) {
		metrics->programs_missed_ns += record->window_ns;
		return;
	}
	for (size_t i = 0; i < record->programs_count; i++)
		sum_ns += record->programs[i].run_ns;
	if (record->window_ns)
		sum_ns += (uint64_t)((double)sum_ns * (double)metrics->programs_missed_ns /
				     (double)record->window_ns);
	metrics->has_programs = true;
	metrics->programs_missed_ns = 0;
	metrics->programs_ns += sum_ns;
}

void metrics_add_self(struct metrics *metrics, const struct self_record *record)
{
	metrics->windows++;
	metrics->now_ns += record->window_ns;
	forget_ended(metrics);
	metrics->own_cpu_ns += record->own_cpu_ns;
	metrics->own_rss_bytes = record->own_rss_bytes;
	metrics->contexts = record->contexts;
	metrics->accounts = record->accounts;
	metrics->observed = record->processes;
	add_programs(metrics, record);
	metrics->has_output = record->has_output;
	metrics->output_dropped_records = record->output_dropped_records;
	metrics->output_waiting_bytes = record->output_waiting_bytes;
	metrics->output_failures = record->output_failures;
}

void metrics_set_forward(struct metrics *metrics, const struct sender_status *sender,
			 const struct backlog_status *backlog)
{
	metrics->has_forward = true;
	metrics->sender = *sender;
	metrics->backlog = *backlog;
}
