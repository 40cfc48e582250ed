/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	HALVINGS = 60
};

/* The buckets of a sample, by value. */
struct ranks {
	struct rank {
		double value;
		double count;
	} * ranks; /* owned */
	size_t count;
	double all; /* number of values */
};

static bool read_ranks(const struct histogram *histogram, struct ranks *ret_ranks)
{
	const size_t buckets_max = (size_t)HISTOGRAM_DOUBLINGS * HISTOGRAM_BUCKETS;
	size_t most = histogram->count < buckets_max ? histogram->count : buckets_max;
	struct histogram_bucket bucket;
	unsigned int cursor = 0;

	*ret_ranks = (struct ranks){ .ranks = calloc(most + 1, sizeof(struct rank)),
				     .all = (double)histogram->count };
	while (ret_ranks->ranks && histogram_next(histogram, &cursor, &bucket))
		ret_ranks->ranks[ret_ranks->count++] =
			(struct rank){ (double)bucket.middle, (double)bucket.count };
	return ret_ranks->ranks != NULL;
}

static double log_choose(double all, double some)
{
	int sign;

	return lgamma_r(all + 1, &sign) - lgamma_r(some + 1, &sign) -
	       lgamma_r(all - some + 1, &sign);
}

/* Splits `all` values into two parts, the second one with `count` of them. Returns the probability
 * that `found` or more of the `beyond` largest values are in the second part, two-sided: twice the
 * smaller tail, with half of `found` itself (mid-P, Lancaster 1961). */
static double fisher(double all, double beyond, double count, double found)
{
	const double enough = 1e-17;
	double here = exp(log_choose(beyond, found) + log_choose(all - beyond, count - found) -
			  log_choose(all, count));
	double above = here, below = here, term = here;

	for (double i = found + 1; i <= fmin(beyond, count) && term > above * enough; i++) {
		term *= (beyond - i + 1) * (count - i + 1) / (i * (all - beyond - count + i));
		above += term;
	}
	term = here;
	for (double i = found; i > fmax(0, count - (all - beyond)) && term > below * enough; i--) {
		term *= i * (all - beyond - count + i) / ((beyond - i + 1) * (count - i + 1));
		below += term;
	}
	return fmin(1, 2 * fmin(above, below) - here);
}

/* A block of equal values straddles the percentile: returns how many values of the second sample
 * count as beyond it, rounded toward the number expected by chance. */
static double part_block(double wanted, double of_second, double block, double second_of_block,
			 double expected)
{
	double found = of_second + wanted * second_of_block / block;

	return found < expected ? fmin(ceil(found), floor(expected) + 1)
				: fmax(floor(found), floor(expected));
}

/* Tests whether more of one sample are beyond the percentile of both, the second one reduced by
 * shift. Values in one bucket are beyond it in proportion. */
static double parted(const struct ranks *first, const struct ranks *second, double percent,
		     double shift)
{
	double all = first->all + second->all, beyond = round((100 - percent) / 100 * all);
	double above = 0, of_second = 0;
	size_t i = first->count, j = second->count;

	for (;;) {
		double next = i > 0 ? first->ranks[i - 1].value : -INFINITY;
		double block = 0, second_of_block = 0;

		if (j > 0)
			next = fmax(next, second->ranks[j - 1].value - shift);
		for (; i > 0 && first->ranks[i - 1].value >= next; i--)
			block += first->ranks[i - 1].count;
		for (; j > 0 && second->ranks[j - 1].value - shift >= next; j--)
			second_of_block += second->ranks[j - 1].count;
		block += second_of_block;
		if (above + block >= beyond)
			return fisher(all, beyond, second->all,
				      part_block(beyond - above, of_second, block, second_of_block,
						 beyond * second->all / all));
		above += block;
		of_second += second_of_block;
	}
}

/* The limit between inside, a shift that the test does not reject, and outside, one that it does.
 */
static double find_end(const struct ranks *first, const struct ranks *second, double percent,
		       double inside, double outside)
{
	for (int i = 0; i < HALVINGS; i++) {
		double middle = inside + (outside - inside) / 2;
		double *end = parted(first, second, percent, middle) >= STATISTICS_SIGNIFICANCE
				      ? &inside
				      : &outside;

		if (*end == middle)
			break;
		*end = middle;
	}
	return inside;
}

/* The width of the bucket that holds the value. */
static double width_at(const struct histogram *histogram, int64_t value)
{
	struct histogram_bucket bucket = { 0 };
	unsigned int cursor = 0;

	while (histogram_next(histogram, &cursor, &bucket) &&
	       value - bucket.middle > bucket.width / 2)
		;
	return (double)bucket.width;
}

uint64_t statistics_needed(double percent)
{
	return (uint64_t)ceil(log(STATISTICS_SIGNIFICANCE / 2) / log(percent / 100));
}

int statistics_compare_percentiles(const struct histogram *first, const struct histogram *second,
				   double percent, struct difference *ret_difference)
{
	struct ranks before = { 0 }, after = { 0 };
	uint64_t needed = statistics_needed(percent);
	int64_t value, second_value;
	int r = -ENOMEM;

	if (first->count < needed || second->count < needed ||
	    !histogram_percentile(first, percent, &value) ||
	    !histogram_percentile(second, percent, &second_value))
		return 0;
	if (read_ranks(first, &before) && read_ranks(second, &after)) {
		double difference = (double)(second_value - value);
		double unsure = (width_at(first, value) + width_at(second, second_value)) / 2;
		double least = (double)(second->least - first->largest) - 2 * unsure;
		double most = (double)(second->largest - first->least) + 2 * unsure;

		*ret_difference = (struct difference){
			.value = difference,
			.low = find_end(&before, &after, percent, difference, least) - unsure,
			.high = find_end(&before, &after, percent, difference, most) + unsure,
			.probability = parted(&before, &after, percent, 0),
		};
		r = 1;
	}
	free(before.ranks);
	free(after.ranks);
	return r;
}
