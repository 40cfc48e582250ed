/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What cpu records add up to: those that are being written, and those that were read back, the
 * same. The latter are untrusted: sums saturate at 2^63-1. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
	_COST_MAX,
};

/* A column that one record lacks is "not measured" for all of them, never a sum of the rest. All
 * zeros: no records yet. */
struct costs {
	int64_t sums[_COST_MAX];
	uint32_t missing; /* bit per enum cost: some record had no such field */
	bool lacks_span; /* some record did not say when */
	uint64_t record_count;
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

/* The field that JSON and CSV give a cost under. */
const char *costs_name(enum cost cost);

/* CPU of costs in percent of that of all; false when either is not measured or all is 0. */
bool costs_share_percent(const struct costs *costs, const struct costs *all, double *ret_percent);
