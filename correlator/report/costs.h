/*
 * What cpu records add up to: one sum a column, and which columns were measured. A column that one
 * record of a group lacks is "not measured" for the group, never a sum of the rest. Pure.
 * Sums saturate at 2^63-1: the records are untrusted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
	_COST_MAX,
};

struct costs {
	int64_t sums[_COST_MAX];
	uint32_t missing; /* bit per enum cost: some record had no such field */
	uint64_t record_count;
};

void costs_add_record(struct costs *costs, const struct record_view *record);
void costs_add(struct costs *costs, const struct costs *other);

/* False: not measured, and sums[cost] must not be shown. */
bool costs_has(const struct costs *costs, enum cost cost);

/* The field that JSON and CSV give a cost under. */
const char *costs_name(enum cost cost);

/* CPU of costs in percent of that of all; false when either is not measured or all is 0. */
bool costs_share_percent(const struct costs *costs, const struct costs *all, double *ret_percent);

/* a + b, at most 2^63-1. Neither is negative. */
int64_t saturated_add(int64_t a, int64_t b);
