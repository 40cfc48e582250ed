/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/split.h"

#include <stdlib.h>

#include "base/compare.h"

/*
 * Run time between two calls that leaves the caches as cold for the second one as after a sleep;
 * after less time they are partly cold.
 */
enum {
	COLD_AFTER_NS = 10 * 1000
};

/* In percent. A mean is over the middle samples; something else interrupted those beyond. */
enum {
	MIDDLE_LOW = 20,
	MIDDLE_HIGH = 80,
	QUANTILE_LOW = 10,
	QUANTILE_HIGH = 90
};

static int compare(const void *left, const void *right)
{
	return compare_double(*(const double *)left, *(const double *)right);
}

/* Index into count sorted values; count is at least 1. */
static size_t quantile(size_t count, size_t percent)
{
	return (count - 1) * percent / 100;
}

static double middle_mean(const double *values, size_t count)
{
	size_t first = quantile(count, MIDDLE_LOW), last = quantile(count, MIDDLE_HIGH);
	double sum = 0;

	for (size_t i = first; i <= last; i++)
		sum += values[i];
	return sum / (double)(last - first + 1);
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static double excess(double *values, size_t count, double over_ns)
{
	double high;

	qsort(values, count, sizeof(*values), compare);
	high = values[quantile(count, QUANTILE_HIGH)];
	return high - least(high, over_ns);
}

void split_estimate(double *hot_ns, size_t hot_count, double *lone_ns, size_t lone_count,
		    double *slept_ns, size_t slept_count, struct split_way *way)
{
	if (hot_count) {
		double low, high;

		qsort(hot_ns, hot_count, sizeof(*hot_ns), compare);
		way->hot_ns = middle_mean(hot_ns, hot_count);
		low = way->hot_ns - hot_ns[quantile(hot_count, QUANTILE_LOW)];
		high = hot_ns[quantile(hot_count, QUANTILE_HIGH)] - way->hot_ns;
		way->spread_ns = low > high ? low : high;
	} else {
		way->spread_ns = way->hot_ns;
	}
	if (lone_count)
		way->lone_excess_ns = excess(lone_ns, lone_count, way->hot_ns);
	if (slept_count)
		way->slept_excess_ns = excess(slept_ns, slept_count, way->hot_ns);
}

/* Stolen time is deducted from the larger part, and may belong to the other one. */
static double misplaced_ns(const struct account_totals *totals)
{
	double smaller_ns = least((double)totals->user_ns, (double)totals->kernel_ns);
	int64_t stolen_ns = totals->stolen_ns > 0 ? totals->stolen_ns : 0;

	return least((double)stolen_ns, smaller_ns);
}

void split_account(const struct split_way *way, const struct account_totals *totals,
		   struct split *ret_split)
{
	double cpu_ns = (double)account_on_cpu(totals);
	double calls = (double)totals->syscalls;
	double cold_ns = least(calls, cpu_ns / COLD_AFTER_NS) * way->lone_excess_ns;
	/* One more call may have begun in another account. */
	double switches = (double)(totals->switches_voluntary + totals->switches_involuntary);
	/* How cold is not known: half of it is moved, and the other half may belong there, too. */
	double moved_ns = least(calls * way->hot_ns + cold_ns / 2, (double)totals->user_ns);
	double error_ns = calls * way->spread_ns + cold_ns / 2 +
			  least(calls + 1, switches) * way->slept_excess_ns + misplaced_ns(totals);

	/* A call at either end may half belong to another account. */
	if (totals->syscalls)
		error_ns += way->hot_ns + way->spread_ns;
	error_ns = least(error_ns + 0.5, cpu_ns);
	ret_split->user_ns = totals->user_ns - (uint64_t)moved_ns;
	ret_split->kernel_ns = totals->kernel_ns + (uint64_t)moved_ns;
	ret_split->error_ns = (uint64_t)error_ns;
}
