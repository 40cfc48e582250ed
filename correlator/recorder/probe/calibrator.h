/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that continuously measures how much of a system call is on the user's side of our two
 * boundaries: the way from the ring crossing to the clock reading and back, including our programs'
 * own cost. Forked by calibration.c, observed like any target, and ended by calibration.c; never
 * returns.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum {
	CALIBRATION_SAMPLES_MAX = 8192 /* of two minutes; a power of two */
};

enum calibration_kind {
	CALIBRATION_HOT = 0, /* mean of some cheap calls, one right after the other */
	CALIBRATION_LONE = 1, /* one call, the first after a sleep */
	CALIBRATION_SLEPT = 2, /* one call that slept */
};

struct calibration_sample {
	uint64_t ktime_ns;
	double way_ns;
	uint32_t kind; /* enum calibration_kind */
	uint32_t cpu;
};

/* Shared with the forked process, the only writer. */
struct calibration_samples {
	uint64_t written; /* number of samples so far; the ring has the last ones */
	struct calibration_sample ring[CALIBRATION_SAMPLES_MAX];
};

struct calibrator_config {
	pid_t parent;
	int release_fd; /* starts on a byte, ends without one */
	int slots_fd; /* the map edge_slots */
	int threads_fd; /* the map threads */
	uint32_t thread_bytes; /* size of its values */
	int cpu_count; /* possible ones */
	struct calibration_samples *samples;
};

_Noreturn void calibrator_run(const struct calibrator_config *config);
