/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recording consists of while it runs: for the files that make up the recorder alone. */
#pragma once

#include "base/clock.h"
#include "recorder/observe/cost/budget.h"
#include "recorder/observe/cost/own_cost.h"
#include "recorder/observe/cost/ways.h"
#include "recorder/observe/output/alerting.h"
#include "recorder/observe/output/output.h"
#include "recorder/observe/process/observed.h"
#include "recorder/observe/process/targets.h"
#include "recorder/observe/recorder.h"
#include "recorder/observe/window/contexts.h"
#include "recorder/observe/window/missing_keys.h"
#include "recorder/observe/window/window.h"
#include "recorder/observe/window/window_slices.h"
#include "recorder/observe/window/window_stacks.h"
#include "recorder/observe/window/window_syscalls.h"
#include "recorder/probe/session.h"

struct recorder {
	const struct recorder_options *options;
	struct session *session; /* the kernel side */
	struct targets targets; /* whom it observes */
	struct context_table *contexts; /* what their accounts are named by */
	struct window window; /* the open one */
	bool is_last_window; /* it is the last one, and ends */
	struct window_slices *timeline; /* NULL = none is wanted */
	struct window_stacks *stacks; /* NULL = none are wanted */
	struct window_syscalls *syscalls; /* the same */
	struct own_cost cost;
	struct budget budget;
	uint64_t budget_turns; /* how often it made a process lean */
	struct output output;
	struct alerting alerting;
	int signal_fd;
	bool is_stopped; /* by a signal */
	bool is_interrupted; /* by SIGINT */
	int told_signal; /* to end, that was passed on to the command last; 0 = none yet */
	uint64_t told_ns; /* when; CLOCK_MONOTONIC */
	bool may_probe; /* uprobes are allowed */
	bool has_otel; /* contexts that change without a probe are read, beside others: it was said
			*/
	bool is_split_given_up; /* for the budget */
	struct ways ways;
	enum watch_mode mode; /* of the last meta record */
	bool has_told_split; /* and that */
	char reason[MODE_REASON_BYTES + 2 * COMM_BYTES]; /* of the last change of a mode */
	uint64_t attributed_ns; /* totals, for the last line */
	uint64_t exec_ns;
	uint64_t cpu_records;
	struct missing_keys missing;
};

/* How long the first window is to be. */
static inline uint64_t recorder_first_window_ns(const struct recorder_options *options)
{
	return options->first_window_ns
		       ? clock_earliest(options->first_window_ns, options->interval_ns)
		       : options->interval_ns;
}
