/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Totals since the start, for a monitoring system: the sums of the records as they are written, so
 * that both say the same. Pure and of a fixed size, whatever is observed; single thread. Never
 * holds what identifies a request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "figures/costs.h"
#include "record/record.h"
#include "recorder/forward/sender.h"
#include "recorder/metrics/request_figures.h"
#include "recorder/queue/backlog.h"

/* A scraper with a longer interval may miss the last figures of a process. */
#define METRICS_ENDED_NS (5 * 60 * NS_PER_S)

enum {
	METRICS_PROCESSES_MAX = 64, /* that have figures of their own; the rest have common ones */
	METRICS_COMM_BYTES = 64, /* escaped */
};

struct metrics_process {
	uint32_t pid;
	char comm[METRICS_COMM_BYTES];
	struct costs costs; /* in all contexts and none */
	uint32_t measured; /* bit per enum cost: some record had it */
	uint64_t exec_ns;
	uint64_t attributed_ns;
	uint64_t unattributed_ns;
	uint64_t overflow_ns;
	int64_t residual_ns;
	uint64_t dropped_records; /* on their way to a collector */
	bool is_told; /* it was there in metrics_tell(), */
	uint64_t pages_before; /* the number of pages that had been made then */
	bool is_ended;
	uint64_t ended_ns; /* then, on the clock of the windows */
};

struct metrics {
	const char *tool_version; /* static */
	uint64_t start_wall_ns;
	uint64_t windows;
	struct metrics_process processes[METRICS_PROCESSES_MAX];
	size_t process_count;
	struct metrics_process others; /* found no place of their own */
	struct metrics_process ended; /* the sum of those that ended and were on no page */
	uint64_t pages; /* that were made so far */
	uint64_t now_ns; /* length of all windows */
	uint64_t losses[_COUNTER_MAX];
	const struct request_figures *requests; /* borrowed; NULL = nobody asked for them */
	uint64_t own_cpu_ns;
	bool has_programs;
	uint64_t programs_ns; /* of the kernel programs, where the kernel measures them */
	uint64_t programs_missed_ns; /* since they were last measured: is taken for the same */
	uint64_t own_rss_bytes;
	struct self_fill contexts;
	struct self_fill accounts;
	struct self_fill observed;
	bool has_output; /* what became of records on their way to a file or pipe: */
	uint64_t output_dropped_records;
	uint64_t output_waiting_bytes;
	uint64_t output_failures;
	bool has_forward; /* what became of records on their way to a collector: */
	struct sender_status sender;
	struct backlog_status backlog;
};

void metrics_init(struct metrics *metrics, const char *tool_version, uint64_t start_wall_ns);

/* pages: the number of pages that were made so far. */
void metrics_set_pages(struct metrics *metrics, uint64_t pages);
/* From here on pages may be made of it. */
void metrics_tell(struct metrics *metrics);

/*
 * Each adds what its record says. A process that has ended keeps its series for METRICS_ENDED_NS,
 * so that the next scrape has its last figures, unless a new one needs the place. One that was on
 * no page is in the sum of the ended, since the growth of a series is counted from its second page
 * on.
 */
void metrics_add_process(struct metrics *metrics, const struct process_record *record);
void metrics_add_cpu(struct metrics *metrics, const struct cpu_record *record);
void metrics_add_balance(struct metrics *metrics, const struct balance_record *record);
void metrics_add_gap(struct metrics *metrics, const struct gap_record *record);
void metrics_add_self(struct metrics *metrics, const struct self_record *record);
/* How sending stands now. */
void metrics_set_forward(struct metrics *metrics, const struct sender_status *sender,
			 const struct backlog_status *backlog);
