/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Times single system calls by the CPU's counter, from just before to just after the instruction.
 * For the calibrator, which is one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct call {
	long number;
	long arguments[4];
	uint64_t before; /* by the counter */
	uint64_t after;
};

struct stopwatch {
	double ns_per_count;
	double pair_counts; /* between two readings of the counter with nothing in between */
	bool is_set;
	bool is_speed_known; /* over a full period */
	uint64_t mark_counts; /* when the period began */
	uint64_t mark_ns;
};

/*
 * Compares the CPU's counter with the clock. Call it twice at first, with some time between, and
 * later from time to time.
 */
void stopwatch_set(struct stopwatch *stopwatch);

/* Makes a call. Returns the kernel's result. */
long stopwatch_call(struct call *call);
/* How long the call took, in counts. */
double stopwatch_counts(const struct stopwatch *stopwatch, const struct call *call);
