/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks as a file for speedscope (https://www.speedscope.app): a profile of all, and one of each
 * endpoint, those with the most CPU first. Each stack has its exact CPU as weight, and what was not
 * sampled is a stack of its own, so that all adds up.
 */
#pragma once

#include <stdio.h>

#include "reader/profile/stacks.h"

enum {
	SPEEDSCOPE_ENDPOINTS_MAX = 64, /* of more, those with the most CPU */
};

/* After stacks_finish. Check ferror(out). 0, -ENOMEM. */
int speedscope_print(const struct stacks *stacks, FILE *out);
