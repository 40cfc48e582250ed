/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints stacks as a compressed profile for pprof (https://github.com/google/pprof): for each
 * thread of each context in each stack its samples and its part of the exact CPU, with the
 * context's keys as labels. Time that a short request's samples represent beyond its own CPU is
 * attributed to the endpoint only (stacks_spread.h). Unsampled time has a stack of its own, so that
 * everything adds up.
 */
#pragma once

#include <stdio.h>

#include "reader/profile/stacks.h"

/* After stacks_finish. Check ferror(out). 0, -ENOMEM. */
int pprof_print(const struct stacks *stacks, FILE *out);
