/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bounds the CPU time of work triggered from outside: bursts of CPU_BUDGET_BURST_NS, and one part
 * in CPU_BUDGET_PART in the long run. Pure; times are CLOCK_MONOTONIC.
 */
#pragma once

#include <stdint.h>

#include "base/clock.h"

#define CPU_BUDGET_BURST_NS (250 * NS_PER_MS)
#define CPU_BUDGET_PART	    20

/* All zeros: nothing spent. */
struct cpu_budget {
	uint64_t debt_ns; /* at as_of_ns */
	uint64_t as_of_ns;
};

static inline uint64_t cpu_budget_debt_ns(const struct cpu_budget *budget, uint64_t now_ns)
{
	uint64_t paid_ns =
		now_ns > budget->as_of_ns ? (now_ns - budget->as_of_ns) / CPU_BUDGET_PART : 0;

	return budget->debt_ns > paid_ns ? budget->debt_ns - paid_ns : 0;
}

static inline void cpu_budget_spend(struct cpu_budget *budget, uint64_t now_ns, uint64_t spent_ns)
{
	budget->debt_ns = cpu_budget_debt_ns(budget, now_ns) + spent_ns;
	budget->as_of_ns = now_ns;
}

/* The time at which work may continue; now_ns = immediately. */
static inline uint64_t cpu_budget_next_ns(const struct cpu_budget *budget, uint64_t now_ns)
{
	uint64_t debt_ns = cpu_budget_debt_ns(budget, now_ns);

	if (debt_ns <= CPU_BUDGET_BURST_NS)
		return now_ns;
	return now_ns + (debt_ns - CPU_BUDGET_BURST_NS) * CPU_BUDGET_PART;
}
