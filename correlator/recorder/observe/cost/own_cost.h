/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What watching costs, window by window. The kernel measures its
 * programs when it is asked to, for two clock readings a run: all the time, or a sample now and
 * then (sampling.h), from which the window is estimated. Single thread.
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
	uint64_t cpu_ns; /* of all that we run, when it was last measured, */
	uint64_t asked_cpu_ns; /* and of that, for what others ask of us */
	/* The programs: */
	bool is_sampled; /* else they are measured all the time, or, with an error, not at all */
	int error; /* 0, or why the kernel does not do it for us, -errno */
	struct sampling sampling;
	bool is_open; /* a sample, since: */
	uint64_t begin_ns;
	uint64_t window_end_ns; /* as planned */
	struct session_program before[SESSION_PROGRAMS_MAX]; /* what they had run by then */
	struct session_program grown[SESSION_PROGRAMS_MAX]; /* in the samples of the window */
	size_t program_count;
	uint64_t measured_ns; /* of the window */
	uint64_t samples; /* in it */
	double programs_part; /* of the time, of one CPU, when it was last known */
	double percent; /* of one CPU, in the last window; without what others asked for */
};

/*
 * What was used so far is not counted. measures_all: the programs are to be measured all the time.
 * window_end_ns: when the first window is to end.
 */
void own_cost_begin(struct own_cost *cost, struct session *session, bool measures_all,
		    uint64_t now_ns, uint64_t window_end_ns);

/* When own_cost_sample is to be called next (CLOCK_MONOTONIC); UINT64_MAX: not in this window. */
uint64_t own_cost_due_ns(const struct own_cost *cost);
/* Begins or ends a sample that is due. */
void own_cost_sample(struct own_cost *cost, uint64_t now_ns);

/*
 * Measures the window that ends: fills in window_ns, and own CPU, memory and programs of
 * ret_record, which points into programs. asked_cpu_ns: the part of our CPU time so far that others
 * have caused, which is no reason to measure less.
 */
void own_cost_measure(struct own_cost *cost, uint64_t now_ns, uint64_t window_ns,
		      uint64_t asked_cpu_ns,
		      struct self_program programs[static SESSION_PROGRAMS_MAX],
		      struct self_record *ret_record);
/* The next one begins. */
void own_cost_next_window(struct own_cost *cost, uint64_t now_ns, uint64_t window_end_ns);
