/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The offset of our clock (CLOCK_MONOTONIC) from a run queue's clock, from readings of both. Pure.
 * A reading is too large by whatever comes between the two clock reads (an interrupt, steal time),
 * so the smallest reading is right, with two exceptions: our clock may drift from the run queue's,
 * and it may step. Neither a suspend of the kernel nor a migration of the virtual machine moves
 * both clocks by the same amount (timekeeping_resume(), kernel/time/timekeeping.c; sched_clock(),
 * arch/x86/kernel/tsc.c, v6.18).
 */
#pragma once

#include <linux/types.h>

enum {
	CLOCK_OFFSET_DRIFT_DIVISOR = 2000, /* NTP adjusts our clock by at most 500 ppm */
	/* The allowance for drift absorbs smaller steps within a second. */
	CLOCK_OFFSET_STEP_NS = 100 * 1000,
	/* A single reading may be late by that much; this many in a row, a millisecond apart, are
	 * not. */
	CLOCK_OFFSET_STEP_READINGS = 4
};

struct clock_offset {
	__u64 ns; /* our clock minus the run queue's, modulo 2^64 */
	__u64 seen_at_ns; /* last reading, by the run queue's clock; 0 = never */
	__u64 step_ns; /* smallest of the step_readings consecutive readings far above ns */
	__u64 step_readings;
};

_Static_assert(sizeof(struct clock_offset) == 4 * 8, "layout");

/* Takes a reading. ns: our clock minus the run queue's, which then read run_queue_ns. */
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
