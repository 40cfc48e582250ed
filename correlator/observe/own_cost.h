/* SPDX-License-Identifier: GPL-2.0-only */
/* What watching costs: measured window by window, and held against a budget. Single thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/session.h"
#include "record/record.h"

struct own_cost {
	uint64_t cpu_ns; /* of all that we run, when it was last measured */
	struct session_program programs[SESSION_PROGRAMS_MAX]; /* what they ran until then */
	size_t program_count;
	double percent; /* of one CPU, in the last window */
	unsigned int windows_over; /* the budget, in a row */
};

/* What was used so far is not counted. */
void own_cost_begin(struct own_cost *cost, const struct session *session);

/*
 * Measures the window that ends: fills in window_ns, and own CPU, memory and programs of
 * ret_record, which points into programs.
 */
void own_cost_measure(struct own_cost *cost, const struct session *session, uint64_t window_ns,
		      struct self_program programs[static SESSION_PROGRAMS_MAX],
		      struct self_record *ret_record);

/* Once a window. True: so many in a row were over the budget that it is no accident. */
bool own_cost_is_over(struct own_cost *cost, double budget_percent);
