/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/recorded_samples.h"

#include <inttypes.h>

#include "base/log.h"

void recorded_samples_warn(enum stacks_measure measure, bool is_none, uint64_t samples_left_out,
			   uint64_t cpu_records_left_out)
{
	if (is_none && measure == STACKS_OFF_CPU)
		log_warning("the recording has no waits by stack: record with --stacks=off-cpu");
	else if (is_none)
		log_warning("the recording has no samples: record with --stacks");
	if (samples_left_out > 0 || cpu_records_left_out > 0)
		log_warning("%" PRIu64 " %s found no room, and the %s of %" PRIu64
			    " records counts as %s: take less with --where, --since and --until",
			    samples_left_out, measure == STACKS_CPU ? "samples" : "waits",
			    measure == STACKS_CPU ? "CPU" : "time", cpu_records_left_out,
			    measure == STACKS_CPU ? "not sampled" : "in no stack");
}
