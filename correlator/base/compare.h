/* SPDX-License-Identifier: GPL-2.0-only */
/* What qsort(3) wants to hear: below 0 if a comes before b, above if behind, 0 if neither. Pure. */
#pragma once

#include <stdint.h>

static inline int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static inline int compare_i64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* A NaN is equal to everything. */
static inline int compare_double(double a, double b)
{
	return (a > b) - (a < b);
}
