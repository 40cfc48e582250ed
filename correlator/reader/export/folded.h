/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints stacks as lines "outermost;...;innermost NANOSECONDS" of exact CPU or time off the CPU, as
 * flame graph tools read them. Unsampled time has a line of its own, so that everything adds up. */
#pragma once

#include <stdio.h>

#include "reader/profile/stacks.h"

/* After stacks_finish. Check ferror(out). 0, -ENOMEM. */
int folded_print(const struct stacks *stacks, FILE *out);
