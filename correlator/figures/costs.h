/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What cpu records add up to: those that are being written, and those that were read back, the
 * same. The latter are untrusted: sums saturate at 2^63-1. Pure; any thread.
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
	bool lacks_span; /* some record did not say when */
	uint64_t record_count;
	/* The part of COST_CPU in processes that requests started, flagged inherited_by_exec. */
	int64_t children_ns;
	int64_t first_ns; /* wall clock of the first and the last activity */
	int64_t last_ns;
};

/* Of one cpu record. */
struct costs costs_of_record(const struct record_view *record);
/* The same of one that is being written. */
struct costs costs_of_written(const struct cpu_record *record);
void costs_add(struct costs *costs, const struct costs *other);

/* Each cpu record has it; any other one may be not measured. */
bool costs_is_in_each_record(enum cost cost);
/* False: not measured, and sums[cost] must not be shown. */
bool costs_has(const struct costs *costs, enum cost cost);

/* From the first activity to the last; false: not measured. */
bool costs_wall_ns(const struct costs *costs, int64_t *ret_wall_ns);

/*
 * The part of it in which the request was on no thread, as a fiber is that waits for the event
 * loop: what no other cost tells of. Of one that was on several threads at once at least so much.
 * False: not measured.
 */
bool costs_parked_ns(const struct costs *costs, int64_t *ret_parked_ns);

/* The cost of a reason (enum blocked_reason). */
enum cost costs_blocked_on(uint32_t reason);
/* The reason of most of the time asleep, BLOCKED_ON_OTHER where there was none; -1: not measured.
 */
int costs_most_blocked_on(const struct costs *costs);
/* CPU of costs in percent of that of all; false when either is not measured or all is 0. */
bool costs_share_percent(const struct costs *costs, const struct costs *all, double *ret_percent);
