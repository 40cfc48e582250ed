/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When to measure what is too expensive to measure all the time: a sample of 50 ms per second, at a
 * random offset, so that it does not always meet the same phase of periodic work. A sample lies
 * within one window. Pure; single thread.
 */
#pragma once

#include <stdint.h>

#include "base/clock.h"

#define SAMPLING_SAMPLE_NS (50 * NS_PER_MS)
#define SAMPLING_PERIOD_NS NS_PER_S

/* Zero-initialized. Times are CLOCK_MONOTONIC. */
struct sampling {
	uint64_t begin_ns; /* of the next sample; both UINT64_MAX: none left in this window */
	uint64_t end_ns;
	uint64_t period_end_ns; /* the next sample begins no earlier */
};

/*
 * Plans the next sample: at the beginning of a window, and when a sample has ended. The very first
 * sample begins at once, so that a short recording has one, too.
 */
void sampling_plan(struct sampling *sampling, uint64_t now_ns, uint64_t window_end_ns,
		   uint64_t random);
