/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks as a profile for pprof (https://github.com/google/pprof), compressed: for each thread of
 * each context in each stack its samples and its part of the exact CPU, with the context's keys as
 * labels. What the samples of a short request stand for beyond its own CPU has the endpoint alone
 * (stacks_spread.h). What was not sampled is a stack of its own, so that all adds up.
 */
#pragma once

#include <stdio.h>

#include "reader/profile/stacks.h"

/* After stacks_finish. Check ferror(out). 0, -ENOMEM. */
int pprof_print(const struct stacks *stacks, FILE *out);
