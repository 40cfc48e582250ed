/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spreads the exact CPU of contexts over the stacks that samples met them in (stacks.h).
 *
 * A long context has its own CPU spread over its own samples. Short contexts of an endpoint are
 * rarely met, and the longer ones of them more often: so their CPU is one sum, spread over all
 * their samples together. If they have none, it is spread over those of the long contexts of the
 * endpoint; if these have none either, it is not sampled. Whether a context is long is decided by
 * its exact CPU alone: a rule that asks for its samples would count twice what chance made
 * frequent.
 */
#pragma once

#include "reader/profile/stacks.h"

enum {
	/* A long context has as much CPU as so many samples stand for. It is missed by all samples
	 * once in e^8 = 2981 times, if they come at random. */
	STACKS_SPREAD_LONG_SAMPLES = 8,
};

/* Of the chosen contexts: their places in the order of their frames, spent_ns and own_ns of these,
 * is_spread and is_pooled, and the sums. Waits are exact: each context has its own. 0, -ENOMEM. */
int stacks_spread(struct stacks *stacks);
