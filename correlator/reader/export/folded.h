/* SPDX-License-Identifier: GPL-2.0-only */
/* Stacks as lines, each "outermost;...;innermost NANOSECONDS" of exact CPU, as tools for flame
 * graphs read them. What was not sampled is a line of its own, so that all adds up. */
#pragma once

#include <stdio.h>

#include "reader/profile/stacks.h"

/* After stacks_finish. Check ferror(out). 0, -ENOMEM. */
int folded_print(const struct stacks *stacks, FILE *out);
