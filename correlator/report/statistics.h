/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether two samples differ: of means and of percentiles, with an interval for the difference. All
 * take the values of a sample for independent draws; requests of one time are not quite that, so
 * that small probabilities are smaller than they should be. Pure.
 *
 * Our own, for there is no library in C that a GPL-2.0-only program may use and that a distribution
 * has without a language around it: GSL is GPL-3.0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "requests/histogram.h"

/* The second sample's less the first one's. */
struct difference {
	double value;
	double low; /* 95 % interval */
	double high;
	double probability; /* of one as large where there is none, two-sided */
};

/* P(X <= x) of the beta distribution: the regularized incomplete beta function. a, b > 0. */
double statistics_beta(double a, double b, double x);

/* P(|T| > |t|) of Student's distribution, and the t of which it is that. degrees > 0. */
double statistics_student(double t, double degrees);
double statistics_student_quantile(double probability, double degrees);

/*
 * Of means, by Welch's test. False where a sample has fewer than STATISTICS_MEAN_MIN values, or
 * all values are the same.
 */
bool statistics_compare_means(const struct histogram *first, const struct histogram *second,
			      struct difference *ret_difference);

/*
 * Of a percentile (50 to 99), by the bootstrap distribution of the order statistic, which is known
 * exactly. False where a sample has too few values for a 95 % interval of its percentile: of the
 * 99th fewer than 368.
 */
bool statistics_compare_percentiles(const struct histogram *first, const struct histogram *second,
				    double percent, struct difference *ret_difference);

/* Each probability times what makes all of them together hold at once (Holm 1979), at most 1; in
 * place. 0, -ENOMEM. */
int statistics_correct(double *probabilities, size_t count);

enum {
	STATISTICS_MEAN_MIN = 10
};
