/* SPDX-License-Identifier: GPL-2.0-only */
/* The figure "lost" in reports, top and alerts. */
#pragma once

#include <correlator/counters.h>

#include "record/record_view.h"

/* The sum of dropped_records and all counters of losses (counter_is_loss()); at most 2^63-1. None
 * may be negative. */
static inline int64_t losses_sum(int64_t dropped_records, const int64_t counters[_COUNTER_MAX])
{
	int64_t sum = dropped_records;

	for (int i = 0; i < _COUNTER_MAX; i++)
		if (counter_is_loss((enum counter)i))
			saturated_add_to(&sum, counters[i]);
	return sum;
}
