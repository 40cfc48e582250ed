/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spreads the exact CPU of contexts over the stacks that they were sampled in (stacks.h).
 *
 * A long context has samples, and at least the CPU that eight samples stand for
 * (STACKS_SPREAD_LONG_SAMPLES): its CPU is spread over its own. Short contexts are rarely sampled,
 * and the longer ones among them more often. So their CPU is summed up and spread over all the
 * samples of short contexts of the same endpoint, of the narrowest circle that is long itself:
 *
 * 1. those that are chosen;
 * 2. all of the same window, chosen or not: what the endpoint did at that time;
 * 3. all of the recording, which may have less than eight samples;
 * 4. without a sample there, the endpoint's long contexts, chosen or not.
 *
 * Without these either, it is not sampled. How many samples a context or circle has does not
 * matter, only its CPU: otherwise the rule would count twice what chance made frequent.
 */
#pragma once

#include "reader/profile/stacks.h"

enum {
	/* A long context has at least the CPU that this many samples stand for. If samples come at
	 * random, all of them miss it once in e^8 = 2981 times. */
	STACKS_SPREAD_LONG_SAMPLES = 8,
};

/* Sets for all contexts is_spread, is_lending and source; for all places, sorted by frame, spent_ns
 * and own_ns; and the sums. Waits are exact: each context keeps its own. 0, -ENOMEM. */
int stacks_spread(struct stacks *stacks);
