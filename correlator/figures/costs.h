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
	COST_CPU = 0, /* user + kernel */
	COST_USER = 1,
	COST_KERNEL = 2,
	COST_RUN_QUEUE = 3,
	COST_BLOCKED = 4,
	COST_SLICES = 5,
	COST_SWITCHES = 6, /* voluntary + involuntary */
	COST_AMBIGUOUS = 7,
	COST_MIGRATIONS = 8,
	COST_STOLEN = 9, /* on the CPU by the clock, but part of no other cost */
	COST_SPLIT_ERROR = 10, /* as much of user may be kernel, or the other way round */
	COST_UNINTERRUPTIBLE = 11, /* the part of blocked */
	COST_SYSCALLS = 12,
	COST_BLOCKED_DISK = 13, /* and on: the parts of blocked, by reason */
	COST_BLOCKED_NETWORK = 14,
	COST_BLOCKED_POLL = 15,
	COST_BLOCKED_PIPE = 16,
	COST_BLOCKED_FUTEX = 17,
	COST_BLOCKED_SLEEP = 18,
	COST_BLOCKED_CHILD = 19,
	COST_BLOCKED_FAULT = 20,
	COST_BLOCKED_OTHER = 21,
	COST_GVL = 22, /* the part of run queue + blocked */
	COST_GVL_WAITS = 23,
	COST_GC = 24, /* the part of user + kernel */
	COST_GC_RUNS = 25,
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
/* The same for children_ns, which is given only where it is not 0. */
#define COSTS_CHILDREN_NAME "children_cpu_ns"

/* The field that JSON and CSV give a cost under. */
const char *costs_name(enum cost cost);

/* CPU of costs in percent of that of all; false when either is not measured or all is 0. */
bool costs_share_percent(const struct costs *costs, const struct costs *all, double *ret_percent);
