/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/compare.h"

/* Of an interval of 95 %. */
static const double tail = 0.025;

enum {
	FRACTION_STEPS_MAX = 100000, /* it takes about the root of the larger parameter */
	HALVINGS = 200, /* of an interval of doubles: more change nothing */
};

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300, enough = 1e-15;
	double c = 1, d = 1 - (a + b) * x / (a + 1), value;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	value = d;
	for (int m = 1; m <= FRACTION_STEPS_MAX; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 + even * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + even / c;
		c = fabs(c) < tiny ? tiny : c;
		value *= d * c;
		d = 1 + odd * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + odd / c;
		c = fabs(c) < tiny ? tiny : c;
		value *= d * c;
		if (fabs(d * c - 1) < enough)
			break;
	}
	return value;
}

double statistics_beta(double a, double b, double x)
{
	double front;
	int sign;

	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) +
		    b * log1p(-x));
	/* The fraction converges fast on this side of the mean alone. */
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double statistics_student(double t, double degrees)
{
	return statistics_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double statistics_student_quantile(double probability, double degrees)
{
	double low = 0, high = 1;

	while (statistics_student(high, degrees) > probability && high < 1e100)
		high *= 2;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;
		double *end = statistics_student(middle, degrees) > probability ? &low : &high;

		if (*end == middle)
			break;
		*end = middle;
	}
	return high;
}

static double mean_of(const struct histogram *histogram)
{
	return (double)histogram->sum / (double)histogram->count;
}

bool statistics_compare_means(const struct histogram *first, const struct histogram *second,
			      struct difference *ret_difference)
{
	double variance, second_variance, part, second_part, error, degrees, reach;
	double value;

	if (first->count < STATISTICS_MEAN_MIN || second->count < STATISTICS_MEAN_MIN ||
	    !histogram_variance(first, &variance) || !histogram_variance(second, &second_variance))
		return false;
	part = variance / (double)first->count;
	second_part = second_variance / (double)second->count;
	error = sqrt(part + second_part);
	if (!(error > 0))
		return false;
	degrees = (part + second_part) * (part + second_part) /
		  (part * part / (double)(first->count - 1) +
		   second_part * second_part / (double)(second->count - 1));
	value = mean_of(second) - mean_of(first);
	reach = error * statistics_student_quantile(2 * tail, degrees);
	*ret_difference = (struct difference){
		.value = value,
		.low = value - reach,
		.high = value + reach,
		.probability = statistics_student(value / error, degrees),
	};
	return true;
}

/* What the percentile of a sample drawn anew from the values of a histogram may be. */
struct percentile {
	struct point {
		double value;
		double probability;
	} * points; /* by value */
	size_t count;
};

static int spread_percentile(const struct histogram *histogram, double percent,
			     struct percentile *ret_percentile)
{
	const size_t buckets_max = HISTOGRAM_DOUBLINGS * HISTOGRAM_BUCKETS;
	double n = (double)histogram->count, rank = ceil(percent * n / 100);
	size_t points_max = histogram->count < buckets_max ? histogram->count : buckets_max;
	struct percentile percentile = { .points = calloc(points_max, sizeof(struct point)) };
	double before = 0, seen = 0;
	struct histogram_bucket bucket;
	unsigned int cursor = 0;

	if (!percentile.points)
		return -ENOMEM;
	while (histogram_next(histogram, &cursor, &bucket)) {
		double upto;

		seen += (double)bucket.count;
		/* So many of n draws, at least, are not above it. */
		upto = statistics_beta(rank, n - rank + 1, seen / n);
		if (upto > before)
			percentile.points[percentile.count++] =
				(struct point){ (double)bucket.value, upto - before };
		before = upto;
	}
	*ret_percentile = percentile;
	return 0;
}

/* P(second - first < difference), and half of what is just that: both go up together. */
static double probability_below(const struct percentile *first, const struct percentile *second,
				double difference)
{
	double sum = 0, below = 0;
	size_t at = 0;

	for (size_t i = 0; i < first->count; i++) {
		double limit = first->points[i].value + difference;

		for (; at < second->count && second->points[at].value < limit; at++)
			below += second->points[at].probability;
		sum += first->points[i].probability * below;
		if (at < second->count && !(second->points[at].value > limit))
			sum += first->points[i].probability * second->points[at].probability / 2;
	}
	return sum;
}

static double find_difference(const struct percentile *first, const struct percentile *second,
			      double probability)
{
	double low = second->points[0].value - first->points[first->count - 1].value;
	double high = second->points[second->count - 1].value - first->points[0].value;

	for (int i = 0; i < HALVINGS && low < high; i++) {
		double middle = low + (high - low) / 2;
		double *end = probability_below(first, second, middle) < probability ? &low : &high;

		if (*end == middle)
			break;
		*end = middle;
	}
	return high;
}

static bool has_interval(const struct histogram *histogram, double percent)
{
	return pow(percent / 100, (double)histogram->count) <= tail;
}

bool statistics_compare_percentiles(const struct histogram *first, const struct histogram *second,
				    double percent, struct difference *ret_difference)
{
	struct percentile before = { 0 }, after = { 0 };
	int64_t value, second_value;
	bool is_compared = has_interval(first, percent) && has_interval(second, percent) &&
			   histogram_percentile(first, percent, &value) &&
			   histogram_percentile(second, percent, &second_value) &&
			   spread_percentile(first, percent, &before) == 0 &&
			   spread_percentile(second, percent, &after) == 0;

	if (is_compared) {
		double less = probability_below(&before, &after, 0);

		*ret_difference = (struct difference){
			.value = (double)(second_value - value),
			.low = find_difference(&before, &after, tail),
			.high = find_difference(&before, &after, 1 - tail),
			.probability = fmin(1, 2 * fmin(less, 1 - less)),
		};
	}
	free(before.points);
	free(after.points);
	return is_compared;
}

struct ranked {
	double probability;
	size_t index;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *first = a, *second = b;

	return compare_double(first->probability, second->probability);
}

int statistics_correct(double *probabilities, size_t count)
{
	struct ranked *ranked = calloc(count + 1, sizeof(*ranked));
	double least = 0;

	if (!ranked)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){ probabilities[i], i };
	qsort(ranked, count, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < count; i++) {
		least = fmax(least, fmin(1, ranked[i].probability * (double)(count - i)));
		probabilities[ranked[i].index] = least;
	}
	free(ranked);
	return 0;
}
