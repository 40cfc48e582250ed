/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sums of cpu records, the same for those being written and those that were read back. The latter
 * are untrusted: sums saturate at 2^63-1. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <correlator/blocked_reason.h>

#include "record/record.h"
#include "record/record_view.h"

enum cost {
#define COST(id, ...) COST_##id,
#define FIGURE(id, ...)
#include "figures/figures.def"
	_COST_MAX,
};

/* A column that one record lacks is "not measured" for all of them, never a sum of the rest. All
 * zeros: no records yet. */
struct costs {
	int64_t sums[_COST_MAX];
	uint32_t missing; /* bit per enum cost: some record had no such field */
	bool lacks_span; /* some record has no first or last activity */
	uint64_t record_count;
	/* The part of COST_CPU in processes that requests started, flagged inherited_by_exec. */
	int64_t children_ns;
	int64_t first_ns; /* wall clock of the first and the last activity */
	int64_t last_ns;
};

/* The costs of one cpu record that was read back. */
struct costs costs_of_record(const struct record_view *record);
/* The costs of one that is being written. */
struct costs costs_of_written(const struct cpu_record *record);
void costs_add(struct costs *costs, const struct costs *other);

/* Whether every cpu record has the cost; any other may be not measured. */
bool costs_is_in_each_record(enum cost cost);
/* False: not measured, and sums[cost] must not be shown. */
bool costs_has(const struct costs *costs, enum cost cost);

/* From the first activity to the last; false: not measured. */
bool costs_wall_ns(const struct costs *costs, int64_t *ret_wall_ns);

/*
 * The part of the wall time in which the request was on no thread, as a fiber that waits for the
 * event loop: no other cost covers it. A lower bound if the request was on several threads at once.
 * False: not measured.
 */
bool costs_parked_ns(const struct costs *costs, int64_t *ret_parked_ns);

/* The cost of a reason (enum blocked_reason). */
enum cost costs_blocked_on(uint32_t reason);
/* The reason for most of the time asleep, BLOCKED_ON_OTHER if there was none; -1 = not measured. */
int costs_most_blocked_on(const struct costs *costs);
/*
 * Time on I/O: blocked on anything but a lock (BLOCKED_ON_FUTEX), where no thread needs the GVL.
 * Its percentage of that time and cpu together, and the number of threads that this lets run on one
 * GVL: both together by cpu. Waiting for a CPU and for the GVL is in neither, so the figures do not
 * depend on the load. False: not measured, or neither was used.
 */
bool costs_io_percent(const struct costs *costs, double *ret_percent);
bool costs_usable_threads(const struct costs *costs, double *ret_threads);
/* CPU of costs in percent of that of all; false if either is not measured or that of all is 0. */
bool costs_share_percent(const struct costs *costs, const struct costs *all, double *ret_percent);
