/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How values from 0 to 2^63-1 are distributed, in buckets whose width grows with the value: 64 of
 * them for each doubling, so that a percentile is off by less than 0.8 % of itself. Memory comes by
 * the doubling, 256 bytes each: at most 15 KiB, whatever the values are. Count, sum, sum
 * of squares, least and largest are exact. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	HISTOGRAM_BUCKETS = 64, /* of a doubling */
	HISTOGRAM_DOUBLINGS = 58, /* the first holds 0 to 63 */
};

/* All zeros is an empty one. */
struct histogram {
	uint64_t count;
	int64_t sum; /* at most 2^63-1 */
	unsigned __int128 squares; /* their sum, at most 2^128-1 */
	int64_t least;
	int64_t largest;
	uint64_t *doublings[HISTOGRAM_DOUBLINGS]; /* owned; NULL: nothing there */
};

void histogram_deinit(struct histogram *histogram);

/* value: >= 0. 0, or -ENOMEM: it is not in it then. */
int histogram_add(struct histogram *histogram, int64_t value);

/* Adds all of other's. 0, or -ENOMEM: part of them may be in it then. */
int histogram_merge(struct histogram *histogram, const struct histogram *other);

/* The rank, from 1, of that percentile among count values: percent of count, rounded up. */
uint64_t histogram_rank(uint64_t count, double percent);
/* The least value that percent (above 0, at most 100) of all do not exceed. False when it is empty.
 */
bool histogram_percentile(const struct histogram *histogram, double percent, int64_t *ret_value);

/* Rounded down. False when it is empty. */
bool histogram_mean(const struct histogram *histogram, int64_t *ret_value);

/* How many are less than the value, as far as buckets tell: those of the value's own are not. */
uint64_t histogram_count_below(const struct histogram *histogram, int64_t value);
/* Of the values that these are a sample of. False where there are fewer than two. */
bool histogram_variance(const struct histogram *histogram, double *ret_variance);

/* A bucket that holds something. */
struct histogram_bucket {
	int64_t value; /* its middle, or the least or largest of all */
	uint64_t count;
	int64_t middle; /* the same of this bucket in any histogram */
	int64_t width;
};

/* Those buckets by value; *cursor starts at 0. False at the end. */
bool histogram_next(const struct histogram *histogram, unsigned int *cursor,
		    struct histogram_bucket *ret_bucket);
