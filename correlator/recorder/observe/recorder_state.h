/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of a running recording, private to the files of the recorder. */
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
#include "recorder/observe/window/window_io.h"
#include "recorder/observe/window/window_slices.h"
#include "recorder/observe/window/window_stacks.h"
#include "recorder/observe/window/window_stalls.h"
#include "recorder/observe/window/window_syscalls.h"
#include "recorder/probe/session.h"

struct recorder {
	const struct recorder_options *options;
	struct session *session; /* the kernel side */
	struct targets targets; /* the processes that it observes */
	struct context_table *contexts; /* the contexts that accounts are charged to */
	struct window window; /* the open one */
	bool is_last_window; /* the open window is the last one, and is ending */
	struct window_slices *timeline; /* NULL = not recorded */
	struct window_stacks *stacks; /* NULL = not recorded */
	struct window_syscalls *syscalls; /* NULL = not counted */
	struct window_ios *io; /* likewise */
	struct window_stalls *stalls; /* NULL = not recorded */
	struct own_cost cost;
	struct budget budget;
	uint64_t budget_turns; /* number of times that the budget made a process lean */
	struct output output;
	struct alerting alerting;
	int signal_fd;
	bool is_stopped; /* by a signal */
	bool is_interrupted; /* by SIGINT */
	int told_signal; /* last SIGINT or SIGTERM that the command got; 0 = none yet */
	uint64_t told_ns; /* when told_signal arrived; CLOCK_MONOTONIC */
	bool may_probe; /* uprobes are allowed */
	bool has_otel; /* logged that some contexts change without a probe */
	bool is_split_given_up; /* to stay within the budget */
	struct ways ways;
	enum watch_mode mode; /* of the last meta record */
	bool has_told_split; /* kernel_split of the last meta record */
	char reason[MODE_REASON_BYTES + 2 * COMM_BYTES]; /* why a mode last changed */
	uint64_t attributed_ns; /* totals, for the last line */
	uint64_t exec_ns;
	uint64_t cpu_records;
	struct missing_keys missing;
};

/* The length of the first window. */
static inline uint64_t recorder_first_window_ns(const struct recorder_options *options)
{
	return options->first_window_ns
		       ? clock_earliest(options->first_window_ns, options->interval_ns)
		       : options->interval_ns;
}
