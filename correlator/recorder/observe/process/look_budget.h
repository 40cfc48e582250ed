/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits our CPU time for looks at one family: a process and all that it forks. A server that boots
 * is looked at whenever there is a reason; a program that gives reasons all the time (it loads and
 * unloads, execs, forks) gets a small part of a CPU. Pure; times are CLOCK_MONOTONIC.
 */
#pragma once

#include <stdint.h>

#include "base/cpu_budget.h"

/*
 * Number of looks that are free, whatever they cost: they are expensive on a slow machine, and a
 * start takes about that many.
 */
#define LOOK_BUDGET_FREE 32

struct look_budget {
	unsigned int looks; /* counted up to LOOK_BUDGET_FREE */
	struct cpu_budget others;
};

/* Charges a look that took spent_ns. */
static inline void look_budget_spend(struct look_budget *budget, uint64_t now_ns, uint64_t spent_ns)
{
	if (budget->looks < LOOK_BUDGET_FREE)
		budget->looks++;
	else
		cpu_budget_spend(&budget->others, now_ns, spent_ns);
}

/* The earliest time of the next look; now_ns = at once. */
static inline uint64_t look_budget_next_ns(const struct look_budget *budget, uint64_t now_ns)
{
	return cpu_budget_next_ns(&budget->others, now_ns);
}
