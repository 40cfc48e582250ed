/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cost of watching, per window. The kernel times its programs on request, at the price of two
 * clock readings per run: all the time, or in samples (sampling.h) from which the window is
 * estimated. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"
#include "recorder/observe/cost/sampling.h"
#include "recorder/probe/session.h"

struct own_cost {
	struct session *session; /* borrowed */
	uint64_t cpu_ns; /* CPU time of all that we run, at the last measurement */
	uint64_t asked_cpu_ns; /* part of cpu_ns that others' requests used */
	uint64_t skipped_runs; /* of the programs, at the last measurement */
	/* Programs: */
	bool is_sampled; /* else timed all the time or, if error is set, not at all */
	int error; /* 0, or -errno: why the kernel does not time them for us */
	struct sampling sampling;
	bool is_open; /* a measurement is running, since begin_ns */
	uint64_t begin_ns;
	uint64_t window_end_ns; /* as planned */
	struct session_program before[SESSION_PROGRAMS_MAX]; /* their totals at begin_ns */
	struct session_program grown[SESSION_PROGRAMS_MAX]; /* in the samples of the window */
	size_t program_count;
	uint64_t measured_ns; /* part of the window that was measured */
	uint64_t samples; /* number of samples in the window */
	double programs_part; /* share of one CPU, when last known */
	double percent; /* of one CPU, in the last window; without others' requests */
};

/*
 * CPU used before the call is not counted. measures_all: time the programs all the time.
 * window_end_ns: planned end of the first window.
 */
void own_cost_begin(struct own_cost *cost, struct session *session, bool measures_all,
		    uint64_t now_ns, uint64_t window_end_ns);

/* When own_cost_sample is to be called next (CLOCK_MONOTONIC); UINT64_MAX: not in this window. */
uint64_t own_cost_due_ns(const struct own_cost *cost);
/* Begins or ends a sample that is due. */
void own_cost_sample(struct own_cost *cost, uint64_t now_ns);

/*
 * Measures the window that ends: fills in window_ns, and own CPU, memory, programs and their
 * skipped runs of
 * ret_record, which points into programs. asked_cpu_ns: part of our CPU time so far that others'
 * requests caused; it does not count towards the budget.
 */
void own_cost_measure(struct own_cost *cost, uint64_t now_ns, uint64_t window_ns,
		      uint64_t asked_cpu_ns,
		      struct self_program programs[static SESSION_PROGRAMS_MAX],
		      struct self_record *ret_record);
/* Begins the next window. */
void own_cost_next_window(struct own_cost *cost, uint64_t now_ns, uint64_t window_end_ns);
