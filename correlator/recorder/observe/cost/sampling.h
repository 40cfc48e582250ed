/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When to measure what costs too much to be measured all the time: a sample of 50 ms a second, at
 * a random place, so that it does not meet the same part of what comes in turns. A sample is in
 * one window. Pure; single thread.
 */
#pragma once

#include <stdint.h>

#include "base/clock.h"

#define SAMPLING_SAMPLE_NS (50 * NS_PER_MS)
#define SAMPLING_PERIOD_NS NS_PER_S

/* Zero at first. CLOCK_MONOTONIC. */
struct sampling {
	uint64_t begin_ns; /* of the next sample; both UINT64_MAX: none is in the rest of the
			      window */
	uint64_t end_ns;
	uint64_t period_end_ns; /* another one is not before it */
};

/* Sets the next sample: at the beginning of a window, and when a sample has ended. The first of
 * all begins at once, so that a short recording has one, too. */
void sampling_plan(struct sampling *sampling, uint64_t now_ns, uint64_t window_end_ns,
		   uint64_t random);
