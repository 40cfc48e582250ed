/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Totals since the start, for a monitoring system: sums of the records as they are written, so that
 * both agree. Pure and of a fixed size, whatever is observed; single thread. Never holds anything
 * that identifies a request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "record/record.h"
#include "recorder/forward/sender.h"
#include "recorder/metrics/cost_counters.h"
#include "recorder/metrics/request_figures.h"
#include "recorder/queue/backlog.h"

/* A scraper with a longer interval may miss the last figures of a process. */
#define METRICS_ENDED_NS (5 * 60 * NS_PER_S)

enum {
	METRICS_PROCESSES_MAX = 64, /* with figures of their own; the rest share one sum */
	METRICS_COMM_BYTES = 64, /* escaped */
};

struct metrics_process {
	uint32_t pid;
	char comm[METRICS_COMM_BYTES];
	struct cost_counters costs; /* in all contexts, and outside any */
	uint64_t exec_ns;
	uint64_t attributed_ns;
	uint64_t unattributed_ns;
	uint64_t overflow_ns;
	int64_t residual_ns;
	uint64_t dropped_records; /* not delivered to a collector */
	bool is_told; /* was present in metrics_tell() */
	uint64_t pages_before; /* metrics.pages at that time */
	bool is_ended;
	uint64_t ended_ns; /* on the clock of the windows */
};

struct metrics {
	const char *tool_version; /* static */
	uint64_t start_wall_ns;
	uint64_t windows;
	struct metrics_process processes[METRICS_PROCESSES_MAX];
	size_t process_count;
	struct metrics_process others; /* sum of the processes without a place */
	struct metrics_process ended; /* sum of those that ended without being on a page */
	uint64_t pages; /* rendered so far */
	uint64_t now_ns; /* total length of all windows */
	uint64_t losses[_COUNTER_MAX];
	const struct request_figures *requests; /* borrowed; NULL = not requested */
	uint64_t own_cpu_ns;
	bool has_programs;
	uint64_t programs_ns; /* CPU of the kernel programs, where the kernel measures it */
	uint64_t programs_missed_ns; /* windows not measured since: extrapolated */
	uint64_t own_rss_bytes;
	struct self_fill contexts;
	struct self_fill accounts;
	struct self_fill observed;
	bool has_output; /* delivery of records to a file or pipe, with: */
	uint64_t output_dropped_records;
	uint64_t output_waiting_bytes;
	uint64_t output_failures;
	bool has_forward; /* delivery of records to a collector, with: */
	struct sender_status sender;
	struct backlog_status backlog;
};

void metrics_init(struct metrics *metrics, const char *tool_version, uint64_t start_wall_ns);

/* pages: number of pages rendered so far. */
void metrics_set_pages(struct metrics *metrics, uint64_t pages);
/* Marks the current state as published: pages may be rendered from it. */
void metrics_tell(struct metrics *metrics);

/*
 * Each adds the figures of its record. A process that has ended keeps its series for
 * METRICS_ENDED_NS, so that the next scrape gets its last figures, unless a new process needs the
 * place. A process that appeared on no page is added to the sum of the ended, because growth of a
 * series counts only from its second page on.
 */
void metrics_add_process(struct metrics *metrics, const struct process_record *record);
void metrics_add_cpu(struct metrics *metrics, const struct cpu_record *record);
void metrics_add_balance(struct metrics *metrics, const struct balance_record *record);
void metrics_add_gap(struct metrics *metrics, const struct gap_record *record);
void metrics_add_self(struct metrics *metrics, const struct self_record *record);
/* Sets the current state of sending. */
void metrics_set_forward(struct metrics *metrics, const struct sender_status *sender,
			 const struct backlog_status *backlog);
