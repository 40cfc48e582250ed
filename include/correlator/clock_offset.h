/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far our clock (CLOCK_MONOTONIC) is from a run queue's, from readings of both. Pure. A reading
 * is late by what comes between the two clocks (an interrupt, theft): so of readings the smallest
 * is right, but for two things: ours may drift from the run queue's, and it may step. Neither the
 * kernel's suspend nor a migration of the virtual machine moves both by the same
 * (timekeeping_resume(), kernel/time/timekeeping.c; sched_clock(), arch/x86/kernel/tsc.c, v6.18).
 */
#pragma once

#include <linux/types.h>

enum {
	CLOCK_OFFSET_DRIFT_DIVISOR = 2000, /* NTP adjusts ours by no more than 500 ppm */
	/* Less than that the drift makes good within a second. */
	CLOCK_OFFSET_STEP_NS = 100 * 1000,
	/* One reading may be late by as much; not so many in a row, a millisecond apart. */
	CLOCK_OFFSET_STEP_READINGS = 4
};

struct clock_offset {
	__u64 ns; /* ours less the run queue's, modulo 2^64 */
	__u64 seen_at_ns; /* by the run queue's clock; 0 = never */
	__u64 step_ns; /* the smallest of step_readings that were far above ns, in a row */
	__u64 step_readings;
};

_Static_assert(sizeof(struct clock_offset) == 4 * 8, "layout");

/* Takes a reading: ours less the run queue's, which was then run_queue_ns. */
static inline void clock_offset_take(struct clock_offset *offset, __u64 ns, __u64 run_queue_ns)
{
	__u64 age_ns = run_queue_ns - offset->seen_at_ns;
	__u64 limit_ns = offset->ns + age_ns / CLOCK_OFFSET_DRIFT_DIVISOR;
	int is_first = !offset->seen_at_ns || run_queue_ns < offset->seen_at_ns;

	offset->seen_at_ns = run_queue_ns;
	if (is_first || (__s64)(ns - limit_ns) <= CLOCK_OFFSET_STEP_NS) {
		offset->ns = is_first || (__s64)(ns - limit_ns) < 0 ? ns : limit_ns;
		offset->step_readings = 0;
		return;
	}
	offset->ns = limit_ns;
	if (!offset->step_readings || (__s64)(ns - offset->step_ns) < 0)
		offset->step_ns = ns;
	if (++offset->step_readings < CLOCK_OFFSET_STEP_READINGS)
		return;
	offset->ns = offset->step_ns;
	offset->step_readings = 0;
}
