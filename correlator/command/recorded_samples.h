/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said of the samples of a recording, by whoever lays them over its CPU
 * (reader/profile/stacks.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reader/profile/stacks.h"

/* Warns where there are none, and of what found no room; of nothing else. */
void recorded_samples_warn(enum stacks_measure measure, bool is_none, uint64_t samples_left_out,
			   uint64_t cpu_records_left_out);
