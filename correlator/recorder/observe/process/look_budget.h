/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of our time the looks at one family of processes may take: a process and all that it
 * forks. A server that boots is looked at as often as there is reason to; a program that gives
 * reasons all the time (it loads and unloads, execs, forks) gets a small part of a CPU. Pure; times
 * are CLOCK_MONOTONIC.
 */
#pragma once

#include <stdint.h>

#include "base/cpu_budget.h"

/* The first looks, whatever they take: a slow machine's are dear, and a start has as many. */
#define LOOK_BUDGET_FREE 32

struct look_budget {
	unsigned int looks; /* up to the free ones */
	struct cpu_budget others;
};

/* A look has taken so long. */
static inline void look_budget_spend(struct look_budget *budget, uint64_t now_ns, uint64_t spent_ns)
{
	if (budget->looks < LOOK_BUDGET_FREE)
		budget->looks++;
	else
		cpu_budget_spend(&budget->others, now_ns, spent_ns);
}

/* When the next look may be; now_ns = at once. */
static inline uint64_t look_budget_next_ns(const struct look_budget *budget, uint64_t now_ns)
{
	return cpu_budget_next_ns(&budget->others, now_ns);
}
