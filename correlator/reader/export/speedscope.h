/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints stacks as a file for speedscope (https://www.speedscope.app): a profile of everything, and
 * one per endpoint, the most CPU first. The weight of each stack is its exact CPU. Unsampled time
 * has a stack of its own, so that everything adds up.
 */
#pragma once

#include <stdio.h>

#include "reader/profile/stacks.h"

enum {
	SPEEDSCOPE_ENDPOINTS_MAX = 64, /* profiles of endpoints: the ones with the most CPU */
};

/* After stacks_finish. Check ferror(out). 0, -ENOMEM. */
int speedscope_print(const struct stacks *stacks, FILE *out);
