/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/metrics/cost_counters.h"

static void add(struct cost_counters *counters, const int64_t sums[static _COST_MAX])
{
	for (int cost = 0; cost < _COST_MAX; cost++)
		saturated_add_to(&counters->sums[cost], sums[cost]);
}

void cost_counters_add(struct cost_counters *counters, const struct costs *costs)
{
	add(counters, costs->sums);
	counters->measured |= ~costs->missing;
}

void cost_counters_add_all(struct cost_counters *counters, const struct cost_counters *other)
{
	add(counters, other->sums);
	counters->measured |= other->measured;
}

bool cost_counters_has(const struct cost_counters *counters, enum cost cost)
{
	return costs_is_in_each_record(cost) || (counters->measured & 1U << cost);
}
