/* SPDX-License-Identifier: GPL-2.0-only */
/* Log lines about the samples of a recording, for commands that scale them to its CPU
 * (reader/profile/stacks.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reader/profile/stacks.h"

/* Warns if there are no samples, and of samples and records that were left out. */
void recorded_samples_warn(enum stacks_measure measure, bool is_none, uint64_t samples_left_out,
			   uint64_t cpu_records_left_out);
