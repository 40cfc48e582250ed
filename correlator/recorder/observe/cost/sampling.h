/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When to measure what costs too much to be measured all the time: a stretch of 50 ms a second, at
 * a random place, so that it does not meet the same part of what comes in turns. A stretch is in
 * one window. Pure; single thread.
 */
#pragma once

#include <stdint.h>

#include "base/clock.h"

#define SAMPLING_STRETCH_NS (50 * NS_PER_MS)
#define SAMPLING_PERIOD_NS  NS_PER_S

/* Zero at first. CLOCK_MONOTONIC. */
struct sampling {
	uint64_t begin_ns; /* of the next stretch; both UINT64_MAX: none is in the rest of the
			      window */
	uint64_t end_ns;
	uint64_t period_end_ns; /* another one is not before it */
};

/* Sets the next stretch: at the beginning of a window, and when a stretch has ended. The first of
 * all begins at once, so that a short recording has one, too. */
void sampling_plan(struct sampling *sampling, uint64_t now_ns, uint64_t window_end_ns,
		   uint64_t random);
