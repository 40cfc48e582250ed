/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints stacks as OpenTelemetry profiles (otlp.proto): a ProfilesData message, which a collector
 * also accepts as an export request. One profile has the exact CPU, another the samples by which it
 * was spread. Both have a sample for each thread of each context in each stack, with the context's
 * keys as attributes, and its trace, if known, as a link. Time that a short request's samples
 * represent beyond its own CPU is attributed to the endpoint only (stacks_spread.h). Unsampled time
 * has a stack of its own, so that everything adds up.
 */
#pragma once

#include <stdio.h>

#include "reader/profile/stacks.h"

/* After stacks_finish. Holds the whole output in memory until its end. Check ferror(out). 0,
 * -ENOMEM. */
int otlp_print(const struct stacks *stacks, FILE *out);
