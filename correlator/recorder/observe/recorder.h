/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The recorder, from start to end: target -> probe -> observe -> record -> queue -> forward,
 * driven by one loop.
 * Single thread; owns everything until recorder_free.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/observe/output/output.h"
#include "recorder/observe/process/targets.h"

struct recorder;

struct recorder_options {
	struct targets_options targets;
	struct output_options output;
	const char *on_alert; /* a program to run when an alert fires or is over; NULL = none */
	uint64_t interval_ns;
	uint64_t first_window_ns; /* length of the first window, if less; 0 = interval_ns */
	uint64_t duration_ns; /* 0 = until interrupted or the target's end */
	bool is_lean;
	bool has_kernel_split;
	bool has_children; /* processes that a request starts belong to it; needs follow_forks */
	double budget_percent; /* of one CPU, for our own cost; 0 = no limit */
	bool measures_programs;
	uint32_t contexts_max; /* sizes of the kernel maps; 0 = default */
	uint32_t accounts_max;
	uint32_t ring_bytes;
	bool has_timeline; /* slices are recorded */
	uint32_t stacks_hz; /* stack samples per second on each CPU; 0 = none */
	bool has_wait_stacks; /* also sample the stacks of waiting threads; needs stacks_hz */
	bool has_native; /* with the native function that runs */
	bool has_callers; /* and the native functions that called it; needs has_native */
	bool counts_syscalls; /* by number; needs has_kernel_split */
	bool counts_io; /* what is read and written, by peer; needs has_kernel_split */
	uint64_t stall_least_ns; /* waits of at least this are recorded as stalls; 0 = none */
	uint32_t stall_percentile; /* and longer than that of their endpoint; 0 = all */
	/* Size of the slice ring; the buffer of a window is four times as large. 0 = default. */
	uint32_t timeline_bytes;
};

/*
 * Checks the targets, loads, attaches, opens the output. Logs. Returns an exit code
 * (base/exit_code.h); on EXIT_CODE_OK *ret_recorder is the caller's. Borrows options for the life
 * of the recorder.
 */
int recorder_start(const struct recorder_options *options, struct recorder **ret_recorder);

/* Records until a signal, the duration or the target's end; writes the last window. Exit code. */
int recorder_run(struct recorder *recorder);

void recorder_free(struct recorder *recorder);
DEFINE_CLEANUP(struct recorder *, recorder_free);
