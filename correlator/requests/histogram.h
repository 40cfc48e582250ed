/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The distribution of values from 0 to 2^63-1, in buckets whose width grows with the value: 64 for
 * each doubling, so that a percentile is off by less than 0.8 % of itself. Memory is allocated by
 * the doubling, 512 bytes each: at most 29 KiB, whatever the values are. Count, sum, sum of
 * squares, least and largest are exact. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	HISTOGRAM_BUCKETS = 64, /* per doubling */
	HISTOGRAM_DOUBLINGS = 58, /* the first holds 0 to 63 */
};

/* All zeros is an empty histogram. */
struct histogram {
	uint64_t count;
	int64_t sum; /* at most 2^63-1 */
	unsigned __int128 squares; /* sum of the squares, at most 2^128-1 */
	int64_t least;
	int64_t largest;
	uint64_t *doublings[HISTOGRAM_DOUBLINGS]; /* owned; NULL = no value in it */
};

void histogram_deinit(struct histogram *histogram);

/* value: >= 0. 0, or -ENOMEM: the value was not added. */
int histogram_add(struct histogram *histogram, int64_t value);

/* Adds all values of other. 0, or -ENOMEM: part of them may have been added. */
int histogram_merge(struct histogram *histogram, const struct histogram *other);

/* The rank, from 1, of that percentile among count values: percent of count, rounded up. */
uint64_t histogram_rank(uint64_t count, double percent);
/* The least value that percent (above 0, at most 100) of all do not exceed. False if it is
 * empty. */
bool histogram_percentile(const struct histogram *histogram, double percent, int64_t *ret_value);

/* Rounded down. False when it is empty. */
bool histogram_mean(const struct histogram *histogram, int64_t *ret_value);

/* The number of values less than value, to the precision of buckets: those in its own bucket do
 * not count. */
uint64_t histogram_count_below(const struct histogram *histogram, int64_t value);
/* The variance of the population that the values are a sample of. False if there are fewer than
 * two. */
bool histogram_variance(const struct histogram *histogram, double *ret_variance);

/* A bucket that is not empty. */
struct histogram_bucket {
	int64_t value; /* its middle, clamped to least and largest */
	uint64_t count;
	int64_t middle; /* its middle, which is the same in any histogram */
	int64_t width;
};

/* The buckets that are not empty, by value; *cursor starts at 0. False at the end. */
bool histogram_next(const struct histogram *histogram, unsigned int *cursor,
		    struct histogram_bucket *ret_bucket);
