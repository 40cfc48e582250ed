/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/compare.h"

enum {
	FRACTION_STEPS_MAX = 100000, /* it takes about the square root of the larger parameter */
	HALVINGS = 200, /* of an interval of doubles: more have no effect */
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
	/* The fraction converges fast only on this side of the mean. */
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

double statistics_gamma(double shape, double x)
{
	const double tiny = 1e-300, enough = 1e-15;
	double front, sum, term, b, c, d;
	int sign;

	if (x <= 0)
		return 1;
	front = exp(shape * log(x) - x - lgamma_r(shape, &sign));
	if (x < shape + 1) {
		sum = term = 1 / shape;
		for (int i = 1; i < FRACTION_STEPS_MAX && term >= sum * enough; i++) {
			term *= x / (shape + i);
			sum += term;
		}
		return 1 - front * sum;
	}
	b = x + 1 - shape;
	c = 1 / tiny;
	d = sum = 1 / b;
	for (int i = 1; i < FRACTION_STEPS_MAX && fabs(d * c - 1) >= enough; i++) {
		double a = -i * (i - shape);

		b += 2;
		d = a * d + b;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = b + a / c;
		c = fabs(c) < tiny ? tiny : c;
		sum *= d * c;
	}
	return front * sum;
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
