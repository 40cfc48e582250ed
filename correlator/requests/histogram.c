/* SPDX-License-Identifier: GPL-2.0-only */
#include "requests/histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/record_view.h"

enum {
	BUCKET_BITS = 6, /* log2 of HISTOGRAM_BUCKETS */
};

void histogram_deinit(struct histogram *histogram)
{
	for (int i = 0; i < HISTOGRAM_DOUBLINGS; i++)
		free(histogram->doublings[i]);
	*histogram = (struct histogram){ 0 };
}

/* The doubling of a value: the number of bits it has beyond BUCKET_BITS. */
static int find_doubling(int64_t value)
{
	int bits = 64 - __builtin_clzll((uint64_t)value | 1);

	return bits > BUCKET_BITS ? bits - BUCKET_BITS : 0;
}

/* The bucket of a value within its doubling: its highest bits, without the very highest, which
 * is always set beyond the first doubling. */
static int find_bucket(int64_t value, int doubling)
{
	int shift = doubling > 0 ? doubling - 1 : 0;

	return (int)(value >> shift) & (HISTOGRAM_BUCKETS - 1);
}

/* The middle of a bucket. */
static int64_t middle_of(int doubling, int bucket)
{
	int shift = doubling > 0 ? doubling - 1 : 0;
	int64_t begin = (int64_t)(bucket | (doubling > 0 ? HISTOGRAM_BUCKETS : 0)) << shift;

	return begin + ((int64_t)1 << shift) / 2;
}

static uint64_t *provide(struct histogram *histogram, int doubling)
{
	uint64_t **counts = &histogram->doublings[doubling];

	if (!*counts)
		*counts = calloc(HISTOGRAM_BUCKETS, sizeof(**counts));
	return *counts;
}

static void add_squares(struct histogram *histogram, unsigned __int128 squares)
{
	if (__builtin_add_overflow(histogram->squares, squares, &histogram->squares))
		histogram->squares = ~(unsigned __int128)0;
}

int histogram_add(struct histogram *histogram, int64_t value)
{
	int doubling = find_doubling(value);
	uint64_t *counts = provide(histogram, doubling);

	if (!counts)
		return -ENOMEM;
	counts[find_bucket(value, doubling)]++;
	if (histogram->count == 0 || value < histogram->least)
		histogram->least = value;
	if (value > histogram->largest)
		histogram->largest = value;
	histogram->count++;
	saturated_add_to(&histogram->sum, value);
	add_squares(histogram, (unsigned __int128)value * (unsigned __int128)value);
	return 0;
}

int histogram_merge(struct histogram *histogram, const struct histogram *other)
{
	for (int doubling = 0; doubling < HISTOGRAM_DOUBLINGS; doubling++) {
		uint64_t *counts;

		if (!other->doublings[doubling])
			continue;
		counts = provide(histogram, doubling);
		if (!counts)
			return -ENOMEM;
		for (int bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++)
			counts[bucket] += other->doublings[doubling][bucket];
	}
	if (other->count > 0 && (histogram->count == 0 || other->least < histogram->least))
		histogram->least = other->least;
	if (other->largest > histogram->largest)
		histogram->largest = other->largest;
	histogram->count += other->count;
	saturated_add_to(&histogram->sum, other->sum);
	add_squares(histogram, other->squares);
	return 0;
}

/* The middle of the bucket that holds the value of this rank, from 1. */
static int64_t find_rank(const struct histogram *histogram, uint64_t rank)
{
	uint64_t seen = 0;

	for (int doubling = 0; doubling < HISTOGRAM_DOUBLINGS; doubling++) {
		const uint64_t *counts = histogram->doublings[doubling];

		for (int bucket = 0; counts && bucket < HISTOGRAM_BUCKETS; bucket++) {
			seen += counts[bucket];
			if (seen >= rank)
				return middle_of(doubling, bucket);
		}
	}
	return histogram->largest;
}

uint64_t histogram_rank(uint64_t count, double percent)
{
	double part = percent * (double)count / 100;
	uint64_t rank = (uint64_t)part;

	rank += (double)rank < part;
	return rank > 0 ? rank : 1;
}

bool histogram_percentile(const struct histogram *histogram, double percent, int64_t *ret_value)
{
	uint64_t rank = histogram_rank(histogram->count, percent);
	int64_t value;

	if (histogram->count == 0)
		return false;
	value = find_rank(histogram, rank);
	/* The middle of an outermost bucket may lie outside the range of the values. */
	if (value < histogram->least || rank <= 1)
		value = histogram->least;
	if (value > histogram->largest || rank >= histogram->count)
		value = histogram->largest;
	*ret_value = value;
	return true;
}

bool histogram_variance(const struct histogram *histogram, double *ret_variance)
{
	unsigned __int128 count = histogram->count, sum = (uint64_t)histogram->sum;
	unsigned __int128 mean, around_mean;
	double rest;

	if (histogram->count < 2)
		return false;
	/* The sum of squares around the truncated mean, exact; the fraction of the mean changes
	 * it by rest^2/count. */
	mean = sum / count;
	around_mean = histogram->squares - 2 * mean * sum + count * mean * mean;
	rest = (double)(sum % count);
	*ret_variance = ((double)around_mean - rest * rest / (double)count) / (double)(count - 1);
	return true;
}

bool histogram_next(const struct histogram *histogram, unsigned int *cursor,
		    struct histogram_bucket *ret_bucket)
{
	for (; *cursor < HISTOGRAM_DOUBLINGS * HISTOGRAM_BUCKETS; ++*cursor) {
		int doubling = (int)(*cursor / HISTOGRAM_BUCKETS);
		int bucket = (int)(*cursor % HISTOGRAM_BUCKETS);
		const uint64_t *counts = histogram->doublings[doubling];
		int64_t middle = middle_of(doubling, bucket), value = middle;

		if (!counts || counts[bucket] == 0)
			continue;
		if (value < histogram->least)
			value = histogram->least;
		if (value > histogram->largest)
			value = histogram->largest;
		*ret_bucket = (struct histogram_bucket){
			.value = value,
			.count = counts[bucket],
			.middle = middle,
			.width = (int64_t)1 << (doubling > 0 ? doubling - 1 : 0),
		};
		++*cursor;
		return true;
	}
	return false;
}

bool histogram_mean(const struct histogram *histogram, int64_t *ret_value)
{
	if (histogram->count == 0)
		return false;
	*ret_value = histogram->sum / (int64_t)histogram->count;
	return true;
}

uint64_t histogram_count_below(const struct histogram *histogram, int64_t value)
{
	int last_doubling = find_doubling(value), last_bucket = find_bucket(value, last_doubling);
	uint64_t count = 0;

	for (int doubling = 0; doubling <= last_doubling; doubling++) {
		const uint64_t *counts = histogram->doublings[doubling];
		int end = doubling == last_doubling ? last_bucket : HISTOGRAM_BUCKETS;

		for (int bucket = 0; counts && bucket < end; bucket++)
			count += counts[bucket];
	}
	return count;
}
