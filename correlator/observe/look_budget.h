/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of our time the looks at one family of processes may take: a process and all that it
 * forks. A server that boots is looked at as often as there is reason to; a program that gives
 * reasons all the time (it loads and unloads, execs, forks) gets a small part of a CPU. Pure; times
 * are CLOCK_MONOTONIC.
 */
#pragma once

#include <stdint.h>

#include "base/clock.h"

/* At once, and then one nanosecond of so many. */
#define LOOK_BUDGET_BURST_NS (250 * NS_PER_MS)
#define LOOK_BUDGET_PART     20
/* And the first looks, whatever they take: a slow machine's are dear, and a start has as many. */
#define LOOK_BUDGET_FREE 32

struct look_budget {
	unsigned int looks; /* up to the free ones */
	uint64_t debt_ns; /* as of then */
	uint64_t as_of_ns;
};

static inline uint64_t look_budget_debt_ns(const struct look_budget *budget, uint64_t now_ns)
{
	uint64_t paid_ns =
		now_ns > budget->as_of_ns ? (now_ns - budget->as_of_ns) / LOOK_BUDGET_PART : 0;

	return budget->debt_ns > paid_ns ? budget->debt_ns - paid_ns : 0;
}

/* A look has taken so long. */
static inline void look_budget_spend(struct look_budget *budget, uint64_t now_ns, uint64_t spent_ns)
{
	if (budget->looks < LOOK_BUDGET_FREE) {
		budget->looks++;
		return;
	}
	budget->debt_ns = look_budget_debt_ns(budget, now_ns) + spent_ns;
	budget->as_of_ns = now_ns;
}

/* When the next look may be; now_ns = at once. */
static inline uint64_t look_budget_next_ns(const struct look_budget *budget, uint64_t now_ns)
{
	uint64_t debt_ns = look_budget_debt_ns(budget, now_ns);

	if (debt_ns <= LOOK_BUDGET_BURST_NS)
		return now_ns;
	return now_ns + (debt_ns - LOOK_BUDGET_BURST_NS) * LOOK_BUDGET_PART;
}
