/* SPDX-License-Identifier: GPL-2.0-only */
/* Sums of costs that never fall: a record without a cost adds nothing to it. Pure; single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "figures/costs.h"

/* All zeros: no records yet. */
struct cost_counters {
	int64_t sums[_COST_MAX]; /* saturated */
	uint32_t measured; /* bit per enum cost: some record had it */
};

void cost_counters_add(struct cost_counters *counters, const struct costs *costs);
void cost_counters_add_all(struct cost_counters *counters, const struct cost_counters *other);

/* False: no record had the cost, and there may be records that lack it. */
bool cost_counters_has(const struct cost_counters *counters, enum cost cost);
