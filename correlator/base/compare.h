/* SPDX-License-Identifier: GPL-2.0-only */
/* Comparators for qsort(3): < 0 if a sorts before b, > 0 if after, 0 if equal. Pure. */
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

/* NaN compares equal to everything. */
static inline int compare_double(double a, double b)
{
	return (a > b) - (a < b);
}
