/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/statistics.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum {
	HALVINGS = 60,
	DOUBLINGS = 60,
	HALVINGS_OF_FEW = 10,
	DOUBLINGS_OF_FEW = 20,
	ROUNDS_MAX = 10000, /* permutations */
	ROUNDS_OF_INTERVAL = 500,
	ROUNDS_ENOUGH = 50, /* extreme permutations after which more give no new information */
	ROUNDS_LEAST = 10, /* with fewer extreme permutations the probability is not known */
	SHUFFLED_FEW_MAX = 1000,
	SHUFFLED_ALL_MAX = 1 << 20, /* values of both samples together */
};

bool statistics_is_change(const struct difference *difference, double probability)
{
	return probability < STATISTICS_SIGNIFICANCE &&
	       (difference->low > 0 || difference->high < 0);
}

struct statistics_sample statistics_sample_of(const struct histogram *histogram)
{
	double count = (double)histogram->count, middle = 0;
	struct statistics_sample sample = { .count = histogram->count };
	struct histogram_bucket bucket;
	unsigned int cursor = 0;

	if (histogram->count == 0)
		return sample;
	sample.mean = (double)histogram->sum / count;
	(void)histogram_variance(histogram, &sample.variance);
	while (histogram_next(histogram, &cursor, &bucket))
		middle += (double)bucket.value * (double)bucket.count / count;
	for (cursor = 0; histogram_next(histogram, &cursor, &bucket);) {
		double distance = (double)bucket.value - middle;

		sample.third += distance * distance * distance * (double)bucket.count / count;
	}
	return sample;
}

/* P(Z > z) of Pearson's type III distribution with mean 0, variance 1 and this skewness. */
static double pearson_above(double z, double skewness)
{
	const double least = 1e-3;
	double shape = 4 / (skewness * skewness);

	if (fabs(skewness) < least)
		return erfc(z / M_SQRT2) / 2;
	if (skewness > 0)
		return statistics_gamma(shape, shape + z * sqrt(shape));
	return 1 - statistics_gamma(shape, shape - z * sqrt(shape));
}

static double two_sided(double above)
{
	return fmax(0, fmin(1, 2 * fmin(above, 1 - above)));
}

/* Moments of a mean that is drawn without replacement; off: distance of the actual mean from the
 * expected one. */
struct drawn {
	double off;
	double variance;
	double third; /* central moment */
};

/* The mean of second->count values drawn from both samples, those of the second one reduced by
 * shift (Sukhatme 1938). */
static struct drawn draw_mean(const struct statistics_sample *first,
			      const struct statistics_sample *second, double shift)
{
	double first_count = (double)first->count, count = (double)second->count;
	double all = first_count + count;
	double mean = (first_count * first->mean + count * (second->mean - shift)) / all;
	double first_off = first->mean - mean, off = second->mean - shift - mean;
	/* Variances of the values themselves, not estimates for the population. */
	double first_spread = first->variance * (first_count - 1) / first_count;
	double spread = second->variance * (count - 1) / count;
	double square = (first_count * (first_spread + first_off * first_off) +
			 count * (spread + off * off)) /
			all;
	double cube = (first_count * (first->third + 3 * first_spread * first_off +
				      first_off * first_off * first_off) +
		       count * (second->third + 3 * spread * off + off * off * off)) /
		      all;

	return (struct drawn){
		.off = off,
		.variance = square / count * (all - count) / (all - 1),
		.third = cube * (all - count) * (all - 2 * count) /
			 (count * count * (all - 1) * (all - 2)),
	};
}

static double skewness_of(const struct drawn *drawn)
{
	return drawn->third / (drawn->variance * sqrt(drawn->variance));
}

/* The permutation test by these moments, two-sided. */
static double permuted(const struct statistics_sample *first,
		       const struct statistics_sample *second, double shift)
{
	struct drawn drawn = draw_mean(first, second, shift);

	if (!(drawn.variance > 0))
		return 1;
	return two_sided(pearson_above(drawn.off / sqrt(drawn.variance), skewness_of(&drawn)));
}

/* The farthest shift from the actual difference that the test does not reject. step: direction and
 * size of the first step. */
static double find_end(const struct statistics_sample *first,
		       const struct statistics_sample *second, double step)
{
	double inside = second->mean - first->mean, outside = inside + step;

	for (int i = 0;
	     i < DOUBLINGS && permuted(first, second, outside) >= STATISTICS_SIGNIFICANCE; i++) {
		inside = outside;
		outside += step;
		step *= 2;
	}
	for (int i = 0; i < HALVINGS; i++) {
		double middle = inside + (outside - inside) / 2;
		double *end = permuted(first, second, middle) >= STATISTICS_SIGNIFICANCE ? &inside
											 : &outside;

		if (*end == middle)
			break;
		*end = middle;
	}
	return inside;
}

bool statistics_compare_samples(const struct statistics_sample *first,
				const struct statistics_sample *second,
				struct difference *ret_difference)
{
	double part = first->variance / (double)first->count;
	double second_part = second->variance / (double)second->count;
	double error = sqrt(part + second_part), value = second->mean - first->mean;
	double degrees, reach;
	struct difference difference = { .value = value, .low = value, .high = value };

	if (first->count < STATISTICS_MEAN_MIN || second->count < STATISTICS_MEAN_MIN ||
	    (!(error > 0) && value == 0))
		return false;
	difference.probability = permuted(first, second, 0);
	if (error > 0) {
		degrees = (part + second_part) * (part + second_part) /
			  (part * part / (double)(first->count - 1) +
			   second_part * second_part / (double)(second->count - 1));
		reach = error * statistics_student_quantile(STATISTICS_SIGNIFICANCE, degrees);

		difference.probability =
			fmax(difference.probability, statistics_student(value / error, degrees));
		difference.low = fmin(value - reach, find_end(first, second, -reach));
		difference.high = fmax(value + reach, find_end(first, second, reach));
	}
	*ret_difference = difference;
	return true;
}

static void put_values(const struct histogram *histogram, double *values)
{
	struct histogram_bucket bucket;
	unsigned int cursor = 0;

	while (histogram_next(histogram, &cursor, &bucket))
		for (uint64_t i = 0; i < bucket.count; i++)
			*values++ = (double)bucket.middle;
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* The values of both samples, those of the smaller one (few) first, and an order of them. */
struct pooled {
	double *values; /* owned; order is in the same allocation */
	uint32_t *order;
	size_t count; /* of few */
	size_t all;
};

static bool pool(const struct histogram *few, const struct histogram *others,
		 struct pooled *ret_pooled)
{
	size_t all = (size_t)(few->count + others->count);
	double *values = malloc(all * (sizeof(double) + sizeof(uint32_t)));

	if (!values)
		return false;
	put_values(few, values);
	put_values(others, values + few->count);
	*ret_pooled =
		(struct pooled){ values, (uint32_t *)(values + all), (size_t)few->count, all };
	return true;
}

/* The sum of count values drawn without replacement. */
static double draw_sum(const struct pooled *pooled, double shift, uint64_t *state)
{
	uint32_t *order = pooled->order;
	double sum = 0;

	for (size_t i = 0; i < pooled->count; i++) {
		size_t other = i + (size_t)(draw(state) % (pooled->all - i));
		uint32_t drawn = order[other];

		order[other] = order[i];
		order[i] = drawn;
		sum += pooled->values[drawn] - (drawn < pooled->count ? shift : 0);
	}
	return sum;
}

/*
 * The permutation test of few, its values reduced by shift, by permutations that are drawn: as many
 * as are needed, always the same ones. Two-sided; 0 if the probability is too small to be measured
 * that way.
 */
static double shuffled(const struct pooled *pooled, double shift, unsigned int rounds_max)
{
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	unsigned int above = 0, below = 0, rounds = 0;
	double sum = 0;

	for (size_t i = 0; i < pooled->all; i++)
		pooled->order[i] = (uint32_t)i;
	for (size_t i = 0; i < pooled->count; i++)
		sum += pooled->values[i] - shift;
	for (; rounds < rounds_max && (above < ROUNDS_ENOUGH || below < ROUNDS_ENOUGH); rounds++) {
		double drawn = draw_sum(pooled, shift, &state);

		above += drawn >= sum;
		below += drawn <= sum;
	}
	if (fmin(above, below) < ROUNDS_LEAST && rounds == ROUNDS_MAX)
		return 0;
	return fmin(1, 2.0 * (fmin(above, below) + 1) / (rounds + 1));
}

/* The limit between inside, a shift that the test does not reject, and shifts that it does. */
static double find_shuffled_end(const struct pooled *pooled, double inside, double step)
{
	double outside = inside + step;

	for (int i = 0; i < DOUBLINGS_OF_FEW &&
			shuffled(pooled, outside, ROUNDS_OF_INTERVAL) >= STATISTICS_SIGNIFICANCE;
	     i++) {
		inside = outside;
		outside += step;
		step *= 2;
	}
	for (int i = 0; i < HALVINGS_OF_FEW; i++) {
		double middle = inside + (outside - inside) / 2;
		double *end =
			shuffled(pooled, middle, ROUNDS_OF_INTERVAL) >= STATISTICS_SIGNIFICANCE
				? &inside
				: &outside;

		*end = middle;
	}
	return inside;
}

/* is_first: few is the first sample, else the second one. */
static void shuffle(const struct pooled *pooled, bool is_first, struct difference *difference)
{
	double shift = is_first ? -difference->value : difference->value;
	double step = fmax(difference->high - difference->low, 1) / 2;
	double low = find_shuffled_end(pooled, shift, -step);
	double high = find_shuffled_end(pooled, shift, step);

	difference->probability = fmax(difference->probability, shuffled(pooled, 0, ROUNDS_MAX));
	difference->low = fmin(difference->low, is_first ? -high : low);
	difference->high = fmax(difference->high, is_first ? -low : high);
	/* The ends are found by fewer draws than the probability: make them agree with it. */
	if (difference->probability >= STATISTICS_SIGNIFICANCE) {
		difference->low = fmin(difference->low, 0);
		difference->high = fmax(difference->high, 0);
	} else if (difference->value > 0) {
		difference->low = fmax(difference->low, DBL_MIN);
	} else {
		difference->high = fmin(difference->high, -DBL_MIN);
	}
}

/* Whether three moments do not describe the tail of a mean of few values. */
static bool is_skewed(uint64_t few, const struct statistics_sample *first,
		      const struct statistics_sample *second)
{
	const double most = 0.5;
	struct drawn drawn;

	if (few <= STATISTICS_SHUFFLED_MAX || few > SHUFFLED_FEW_MAX)
		return few <= STATISTICS_SHUFFLED_MAX;
	drawn = draw_mean(first, second, 0);
	return drawn.variance > 0 && fabs(skewness_of(&drawn)) > most;
}

/* If nearly all differences are within a bucket, there is nothing to shuffle. */
static bool is_within_buckets(const struct histogram *histogram, double variance)
{
	struct histogram_bucket bucket;
	double widest = 0;
	unsigned int cursor = 0;

	while (histogram_next(histogram, &cursor, &bucket))
		widest = fmax(widest, (double)bucket.width);
	return variance < widest * widest;
}

int statistics_compare_means(const struct histogram *first, const struct histogram *second,
			     struct difference *ret_difference)
{
	const struct statistics_sample sample = statistics_sample_of(first),
				       second_sample = statistics_sample_of(second);
	bool is_first = first->count < second->count;
	const struct histogram *few = is_first ? first : second;
	const struct histogram *others = is_first ? second : first;
	struct pooled pooled;

	if (!statistics_compare_samples(&sample, &second_sample, ret_difference))
		return 0;
	if (ret_difference->probability >= STATISTICS_SIGNIFICANCE ||
	    !is_skewed(few->count, &sample, &second_sample) ||
	    few->count + others->count > SHUFFLED_ALL_MAX ||
	    is_within_buckets(others, is_first ? second_sample.variance : sample.variance))
		return 1;
	if (!pool(few, others, &pooled))
		return -ENOMEM;
	shuffle(&pooled, is_first, ret_difference);
	free(pooled.values);
	return 1;
}
