/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/recorded_samples.h"

#include <inttypes.h>

#include "base/log.h"

void recorded_samples_warn(bool is_none, uint64_t samples_left_out, uint64_t cpu_records_left_out)
{
	if (is_none)
		log_warning("there are no samples in it: no CPU of it is known by stack (record "
			    "with --stacks for that)");
	if (samples_left_out > 0 || cpu_records_left_out > 0)
		log_warning("%" PRIu64 " samples found no room, and the CPU of %" PRIu64
			    " records counts as not sampled: take less with --where, --since and "
			    "--until",
			    samples_left_out, cpu_records_left_out);
}
