/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests whether two samples differ in their means or percentiles, with an interval for the
 * difference. The values of a sample are taken for independent draws; requests of the same time are
 * not quite independent, so small probabilities come out smaller than they should. Pure.
 *
 * Our own implementation: no C library that a GPL-2.0-only program may use is packaged by
 * distributions without a language around it; GSL is GPL-3.0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "requests/histogram.h"

/* Significance level: a change is less probable than this if there is none. A 95 % interval leaves
 * out as much. */
#define STATISTICS_SIGNIFICANCE 0.05

/* The second sample's value minus the first one's. */
struct difference {
	double value;
	double low; /* 95 % interval */
	double high;
	double probability; /* of one at least as large if there is none, two-sided */
};

/* Whether the difference is significant at 95 %, given its probability, corrected or not. The
 * interval, which may be wider than the test, must exclude 0, too. */
bool statistics_is_change(const struct difference *difference, double probability);

/* The moments by which means are compared. */
struct statistics_sample {
	uint64_t count;
	double mean;
	double variance; /* estimate for the population */
	double third; /* third central moment of the values */
};

struct statistics_sample statistics_sample_of(const struct histogram *histogram);

/*
 * Compares means. The probability is the larger one of two tests:
 *   - Welch's test, which allows different variances.
 *   - The permutation test (Fisher 1935), which is exact if both samples come from the same
 *     population, however skewed and of whatever sizes. Its distribution is approximated by the
 *     first three moments (Pearson's type III, as in Mielke and Berry 1982).
 * The interval covers all differences that at least one of the tests does not reject. Returns false
 * if a sample has fewer than STATISTICS_MEAN_MIN values, or all values are the same.
 */
bool statistics_compare_samples(const struct statistics_sample *first,
				const struct statistics_sample *second,
				struct difference *ret_difference);
/* Does the same. If these tests find a difference, also draws permutations (always the same ones)
 * where three moments do not describe a long tail: the smaller sample has at most
 * STATISTICS_SHUFFLED_MAX values, or at most a thousand and a mean of that many is still skewed.
 * Returns 1; 0 where statistics_compare_samples() returns false; -ENOMEM. */
int statistics_compare_means(const struct histogram *first, const struct histogram *second,
			     struct difference *ret_difference);

/*
 * Compares a percentile (50 to 99): tests whether more values of one sample are beyond the
 * percentile of both together (the median test of Mood 1950, for any percentile), by Fisher's exact
 * test with mid-P. The interval covers all differences that the test does not reject, plus half a
 * bucket of each sample. Returns 1; 0 if a sample has fewer than statistics_needed(percent) values;
 * -ENOMEM.
 */
int statistics_compare_percentiles(const struct histogram *first, const struct histogram *second,
				   double percent, struct difference *ret_difference);
/* The number of values that a 95 % interval of a percentile needs: 368 for the 99th. */
uint64_t statistics_needed(double percent);

/* Corrects each probability, in place, so that all of them hold together (Holm 1979); at most 1.
 * Returns 0, -ENOMEM. */
int statistics_correct(double *probabilities, size_t count);

enum {
	STATISTICS_MEAN_MIN = 10,
	STATISTICS_SHUFFLED_MAX = 64,
};

/* P(X <= x) of the beta distribution: the regularized incomplete beta function. a, b > 0. */
double statistics_beta(double a, double b, double x);
/* P(X > x) of the gamma distribution with this shape (> 0) and scale 1. */
double statistics_gamma(double shape, double x);
/* P(|T| > |t|) of Student's distribution, and its inverse. degrees > 0. */
double statistics_student(double t, double degrees);
double statistics_student_quantile(double probability, double degrees);
