/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cost of observing, from the self records of a recording. Sums saturate; peaks are of one
 * window. Bounded: programs beyond SELF_COST_PROGRAMS_MAX are only in the sums. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"

enum {
	SELF_COST_PROGRAMS_MAX = 32,
	SELF_COST_NAME_BYTES = 64,
};

enum self_cost_map {
	SELF_COST_MAP_CONTEXTS = 0,
	SELF_COST_MAP_ACCOUNTS = 1,
	SELF_COST_MAP_PROCESSES = 2,
	_OWN_COST_MAP_MAX,
};

/* The window in which the map was fullest; limit 0 = not measured. */
struct self_cost_fill {
	int64_t used;
	int64_t limit;
};

struct self_cost_program {
	char name[SELF_COST_NAME_BYTES]; /* escaped */
	int64_t run_count;
	int64_t run_ns;
};

struct self_cost {
	uint64_t record_count; /* 0 = nothing below is measured */
	int64_t cpu_ns;
	int64_t rss_bytes_max; /* 0 = not measured */
	struct self_cost_fill fills[_OWN_COST_MAP_MAX];
	struct self_cost_program programs[SELF_COST_PROGRAMS_MAX]; /* in order of appearance */
	size_t program_count;
	int64_t skipped_runs; /* of all programs: left out by the kernel */
	int64_t run_count; /* of all programs, while they were measured */
	int64_t run_ns;
	bool has_programs; /* false: their cost is not measured */
	int64_t windows_ns; /* length of the windows in which it could be measured */
	int64_t programs_windows_ns; /* length of the windows in which it was, */
	int64_t programs_measured_ns; /* and for how long it was, within these */
	int64_t programs_samples; /* number of samples in this time; 0 = all the time */
	char programs_error[SELF_COST_NAME_BYTES]; /* why it could not be measured, escaped; "" =
						    * it could */
};

void self_cost_add(struct self_cost *cost, const struct record_view *record);
/* Call after the last record: scales the programs' cost from the windows in which it was measured
 * to all in which it could be. */
void self_cost_finish(struct self_cost *cost);

/* "contexts", ... */
const char *self_cost_map_name(enum self_cost_map map);
