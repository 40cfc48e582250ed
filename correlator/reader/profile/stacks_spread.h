/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spreads the exact CPU of contexts over the stacks that they were sampled in (stacks.h).
 *
 * - The CPU of a long context is spread over its own samples.
 * - Short contexts are rarely sampled, and the longer ones among them more often. So the CPU of all
 *   short contexts of an endpoint is summed up and spread over all their samples.
 * - If they have no samples, it is spread over those of the endpoint's long contexts; without those
 *   either, it is not sampled.
 *
 * A context is long if it has enough exact CPU (STACKS_SPREAD_LONG_SAMPLES), and any sample. How
 * many samples it has does not matter: such a rule would count twice what chance made frequent.
 */
#pragma once

#include "reader/profile/stacks.h"

enum {
	/* A long context has at least the CPU that this many samples stand for. If samples come at
	 * random, all of them miss it once in e^8 = 2981 times. */
	STACKS_SPREAD_LONG_SAMPLES = 8,
};

/* Sets for the chosen contexts: places sorted by frame, spent_ns and own_ns of each place,
 * is_spread and is_pooled; and the sums. Waits are exact: each context keeps its own. 0,
 * -ENOMEM. */
int stacks_spread(struct stacks *stacks);
