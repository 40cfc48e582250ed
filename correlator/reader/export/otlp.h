/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks as OpenTelemetry's profiles (otlp.proto), as a ProfilesData message, which a collector
 * takes as a request to export it, too: one profile of the exact CPU, one of the samples that it
 * was spread by, each by thread of each context in each stack, with the context's keys as
 * attributes, and what it has of a trace as a link. What the samples of a short request stand for
 * beyond its own CPU has the endpoint alone (stacks_spread.h). What was not sampled is a stack of
 * its own, so that all CPU adds up.
 */
#pragma once

#include <stdio.h>

#include "reader/profile/stacks.h"

/* After stacks_finish. Holds all that it writes until its end. Check ferror(out). 0, -ENOMEM. */
int otlp_print(const struct stacks *stacks, FILE *out);
