/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "requests/histogram.h"

enum {
	VALUES = 2000,
	ERROR_PER_MILLE = 8, /* what the header promises */
};

static struct histogram histogram;

static int teardown(void **state)
{
	(void)state;
	histogram_deinit(&histogram);
	return 0;
}

static void add(int64_t value)
{
	assert_int_equal(histogram_add(&histogram, value), 0);
}

static int64_t percentile(double percent)
{
	int64_t value = -1;

	assert_true(histogram_percentile(&histogram, percent, &value));
	return value;
}

static int64_t mean(void)
{
	int64_t value = -1;

	assert_true(histogram_mean(&histogram, &value));
	return value;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Of all sizes alike: as many of 10 bits as of 50. */
static int64_t draw(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int64_t)(state >> 1 >> (state & 63) % 63);
}

#define FIXTURE_TEST(test) TEST_WITH(test, NULL, teardown)

FIXTURE_TEST(histogram_without_values_has_no_figures)
{
	int64_t value = -1;

	assert_false(histogram_percentile(&histogram, 50, &value));
	assert_false(histogram_mean(&histogram, &value));
	assert_int_equal(value, -1);
}

FIXTURE_TEST(histogram_variance_is_sample_variance)
{
	const unsigned __int128 most = ~(unsigned __int128)0;
	struct histogram other = { 0 };
	double variance = -1;

	assert_false(histogram_variance(&histogram, &variance));
	add(7);
	assert_false(histogram_variance(&histogram, &variance));
	assert_true(variance == -1);
	add(7);
	assert_true(histogram_variance(&histogram, &variance));
	assert_true(variance == 0);
	assert_int_equal(histogram_add(&other, 1), 0);
	assert_int_equal(histogram_add(&other, 13), 0);
	assert_int_equal(histogram_merge(&histogram, &other), 0);
	assert_true(histogram.squares == 49 + 49 + 1 + 169);
	assert_true(histogram_variance(&histogram, &variance));
	assert_true(variance == 24); /* 36 + 36 of 3 */
	/* Small differences of large values are not lost. */
	histogram_deinit(&histogram);
	for (int i = 0; i < 1000; i++)
		add(1000000000000 + i % 2);
	assert_true(histogram_variance(&histogram, &variance));
	assert_true(variance > 0.25 && variance < 0.2503);
	for (int i = 0; i < 5; i++)
		add(INT64_MAX);
	assert_true(histogram.squares == most);
	histogram_deinit(&other);
}

FIXTURE_TEST(histogram_iterates_all_buckets_in_order_of_value)
{
	struct histogram_bucket bucket = { .value = -1 };
	unsigned int cursor = 0;
	uint64_t count = 0;

	assert_false(histogram_next(&histogram, &cursor, &bucket));
	for (int64_t value = 1000; value < 2000; value++)
		add(value);
	cursor = 0;
	for (int64_t last = -1; histogram_next(&histogram, &cursor, &bucket); last = bucket.value) {
		assert_true(bucket.value > last);
		assert_true(bucket.value >= 1000 && bucket.value <= 1999);
		assert_true(bucket.count >= 1 && bucket.count <= 16);
		count += bucket.count;
	}
	assert_int_equal(count, 1000);
	assert_false(histogram_next(&histogram, &cursor, &bucket));
	histogram_deinit(&histogram);
	add(1001);
	cursor = 0;
	assert_true(histogram_next(&histogram, &cursor, &bucket));
	assert_int_equal(bucket.value, 1001);
	histogram_deinit(&histogram);
	add(0);
	add(INT64_MAX);
	cursor = 0;
	assert_true(histogram_next(&histogram, &cursor, &bucket));
	assert_int_equal(bucket.value, 0);
	assert_true(histogram_next(&histogram, &cursor, &bucket));
	assert_true(bucket.value > INT64_MAX / 100 * 99);
	assert_false(histogram_next(&histogram, &cursor, &bucket));
}

FIXTURE_TEST(histogram_of_one_value_is_exact)
{
	static const int64_t values[] = { 0,	    1,	 63,	  64,	    65,
					  127,	    128, 1000003, 1L << 40, (1L << 40) + 1,
					  INT64_MAX };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		histogram_deinit(&histogram);
		add(values[i]);
		assert_int_equal(percentile(0.1), values[i]);
		assert_int_equal(percentile(50), values[i]);
		assert_int_equal(percentile(100), values[i]);
		assert_int_equal(mean(), values[i]);
		assert_int_equal(histogram.largest, values[i]);
	}
}

FIXTURE_TEST(histogram_minimum_and_maximum_are_exact)
{
	for (int64_t value = 64; value < 100000; value += 77) {
		add(value);
		add(1000000);
		assert_int_equal(percentile(1), value);
		histogram_deinit(&histogram);
		add(1);
		add(value);
		assert_int_equal(percentile(50), 1);
		assert_int_equal(percentile(51), value);
		assert_int_equal(percentile(100), value);
		histogram_deinit(&histogram);
	}
}

FIXTURE_TEST(histogram_small_values_are_exact)
{
	for (int64_t value = 127; value >= 0; value--)
		add(value);
	for (int64_t value = 1; value <= 128; value++)
		assert_int_equal(percentile(100.0 * (double)value / 128), value - 1);
	assert_int_equal(mean(), 63);
	assert_int_equal(histogram.count, 128);
	assert_int_equal(histogram.sum, 127 * 64);
}

FIXTURE_TEST(histogram_percentile_uses_nearest_rank)
{
	for (int64_t value = 1; value <= 4; value++)
		add(10 * value);
	assert_int_equal(percentile(25), 10);
	assert_int_equal(percentile(25.1), 20);
	assert_int_equal(percentile(50), 20);
	assert_int_equal(percentile(75), 30);
	assert_int_equal(percentile(90), 40);
}

/* In sorted: as the definition has it. */
FIXTURE_TEST(histogram_counts_values_below_limit)
{
	static const int64_t values[] = { 0, 5, 5, 63, 64, 1000000, 2000000 };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		add(values[i]);
	assert_int_equal(histogram_count_below(&histogram, 0), 0);
	assert_int_equal(histogram_count_below(&histogram, 5), 1);
	assert_int_equal(histogram_count_below(&histogram, 6), 3);
	assert_int_equal(histogram_count_below(&histogram, 63), 3);
	assert_int_equal(histogram_count_below(&histogram, 64), 4);
	assert_int_equal(histogram_count_below(&histogram, 65), 5);
	/* Those of its own bucket are not below it. */
	assert_int_equal(histogram_count_below(&histogram, 1000001), 5);
	assert_int_equal(histogram_count_below(&histogram, 1500000), 6);
	assert_int_equal(histogram_count_below(&histogram, INT64_MAX), 7);
}

static void expect_near(const int64_t *sorted, size_t count, double percent)
{
	size_t rank = 0;
	int64_t value = percentile(percent), wanted;

	while ((double)(rank + 1) * 100 < percent * (double)count)
		rank++;
	wanted = sorted[rank];
	if (llabs(value - wanted) > wanted / 1000 * ERROR_PER_MILLE)
		fail_msg("percentile %g is %ld, not %ld", percent, value, wanted);
}

FIXTURE_TEST(histogram_percentile_error_is_within_bound)
{
	static const double percents[] = { 0.05, 1, 10, 33.3, 50, 66.6, 90, 99, 99.9, 100 };
	static int64_t values[VALUES];

	for (size_t i = 0; i < VALUES; i++) {
		values[i] = draw();
		add(values[i]);
	}
	qsort(values, VALUES, sizeof(values[0]), by_size);
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
		expect_near(values, VALUES, percents[i]);
	assert_int_equal(histogram.least, values[0]);
	assert_int_equal(histogram.largest, values[VALUES - 1]);
}

FIXTURE_TEST(histogram_merge_equals_histogram_of_all_values)
{
	struct histogram whole = { 0 }, odd = { 0 }, none = { 0 };

	for (int i = 0; i < VALUES; i++) {
		int64_t value = draw() >> 10;

		assert_int_equal(histogram_add(&whole, value), 0);
		assert_int_equal(histogram_add(i % 2 ? &odd : &histogram, value), 0);
	}
	assert_int_equal(histogram_merge(&histogram, &odd), 0);
	assert_int_equal(histogram_merge(&histogram, &none), 0);
	assert_int_equal(histogram_merge(&none, &histogram), 0);
	for (double percent = 0.5; percent <= 100; percent += 0.5) {
		int64_t expected;

		assert_true(histogram_percentile(&whole, percent, &expected));
		assert_int_equal(percentile(percent), expected);
		assert_true(histogram_percentile(&none, percent, &expected));
		assert_int_equal(percentile(percent), expected);
	}
	assert_int_equal(histogram.count, whole.count);
	assert_int_equal(histogram.sum, whole.sum);
	assert_int_equal(histogram.least, whole.least);
	histogram_deinit(&whole);
	histogram_deinit(&odd);
	histogram_deinit(&none);
}

FIXTURE_TEST(histogram_sum_saturates_at_maximum)
{
	struct histogram other = { 0 };

	add(INT64_MAX);
	add(1);
	assert_int_equal(histogram.sum, INT64_MAX);
	assert_int_equal(histogram_add(&other, INT64_MAX), 0);
	assert_int_equal(histogram_merge(&histogram, &other), 0);
	assert_int_equal(histogram.sum, INT64_MAX);
	histogram_deinit(&other);
}

FIXTURE_TEST(histogram_is_unchanged_when_allocation_fails)
{
	struct histogram other = { 0 };

	memory_fails_after(0);
	assert_int_equal(histogram_add(&histogram, 5), -ENOMEM);
	memory_never_fails();
	assert_int_equal(histogram.count, 0);
	assert_int_equal(histogram_add(&other, 5), 0);
	memory_fails_after(0);
	assert_int_equal(histogram_merge(&histogram, &other), -ENOMEM);
	memory_never_fails();
	assert_int_equal(histogram.count, 0);
	histogram_deinit(&other);
}
