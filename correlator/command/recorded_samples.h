/* SPDX-License-Identifier: GPL-2.0-only */
/* Log lines about the samples of a recording, for commands that lay them over its CPU
 * (reader/profile/stacks.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reader/profile/stacks.h"

/* Warns where there are none, and of what found no room; of nothing else. */
void recorded_samples_warn(enum stacks_measure measure, bool is_none, uint64_t samples_left_out,
			   uint64_t cpu_records_left_out);
