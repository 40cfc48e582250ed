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
#include <stdint.h>

#include "requests/histogram.h"

/* A change is less probable than this without one; as much a 95 % interval leaves out. */
#define STATISTICS_SIGNIFICANCE 0.05

/* The second sample's less the first one's. */
struct difference {
	double value;
	double low; /* 95 % interval */
	double high;
	double probability; /* of one as large where there is none, two-sided */
};

/* Whether it is one, at 95 %, if its probability, corrected or not, is this: the interval, which
 * may be wider than the test, has to say so, too. */
bool statistics_is_change(const struct difference *difference, double probability);

/* The figures by which a mean is compared. */
struct statistics_sample {
	uint64_t count;
	double mean;
	double variance; /* of the values that these are a sample of */
	double third; /* mean of the third powers of the distances to the mean */
};

struct statistics_sample statistics_sample_of(const struct histogram *histogram);

/*
 * Compares means. The probability is the larger one of two: by Welch's test, which takes the
 * samples to be of different width, and by the permutation test (Fisher 1935), which holds exactly
 * where both are of the same, however skewed and of whatever number: its distribution by the first
 * three moments (Pearson's type III, as Mielke and Berry 1982 have it). The interval is that of all
 * differences which either test would not find. False where a sample has fewer than
 * STATISTICS_MEAN_MIN values, or all values are the same.
 */
bool statistics_compare_samples(const struct statistics_sample *first,
				const struct statistics_sample *second,
				struct difference *ret_difference);
/* The same, and where these tests find a difference and a sample has at most
 * STATISTICS_SHUFFLED_MAX values, or at most a thousand and a mean of that many is still skewed, by
 * permutations that are drawn (always the same ones): three moments do not tell of a long tail.
 * 1; 0 where statistics_compare_samples() has false; -ENOMEM. */
int statistics_compare_means(const struct histogram *first, const struct histogram *second,
			     struct difference *ret_difference);

/*
 * Compares a percentile (50 to 99): whether more of one sample are beyond the percentile of both
 * together (the median test of Mood 1950 for any percentile), by Fisher's exact test with mid-P.
 * The interval is that of all differences which that would not find, and half a bucket of each. 1;
 * 0 where a sample has fewer than statistics_needed(percent) values; -ENOMEM.
 */
int statistics_compare_percentiles(const struct histogram *first, const struct histogram *second,
				   double percent, struct difference *ret_difference);
/* As many as a 95 % interval of a percentile takes: of the 99th 368. */
uint64_t statistics_needed(double percent);

/* Each probability times what makes all of them together hold at once (Holm 1979), at most 1; in
 * place. 0, -ENOMEM. */
int statistics_correct(double *probabilities, size_t count);

enum {
	STATISTICS_MEAN_MIN = 10,
	STATISTICS_SHUFFLED_MAX = 64,
};

/* P(X <= x) of the beta distribution: the regularized incomplete beta function. a, b > 0. */
double statistics_beta(double a, double b, double x);
/* P(X > x) of the gamma distribution of this shape (> 0), and scale 1. */
double statistics_gamma(double shape, double x);
/* P(|T| > |t|) of Student's distribution, and the t of which it is that. degrees > 0. */
double statistics_student(double t, double degrees);
double statistics_student_quantile(double probability, double degrees);
