/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/aggregate/statistics.h"

enum {
	TRIALS = 1000,
	REQUESTS = 400,
};

static struct histogram first, second;

static int teardown(void **state)
{
	(void)state;
	histogram_deinit(&first);
	histogram_deinit(&second);
	return 0;
}

static void near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%.12g is not %.12g", value, expected);
}

#define FIXTURE_TEST(test) TEST_WITH(test, NULL, teardown)

/* Closed forms, and R 4.2's pbeta(). */
FIXTURE_TEST(statistics_beta_matches_known_values)
{
	static const struct {
		double a, b, x, value;
	} cases[] = {
		{ 1, 1, 0.3, 0.3 },	{ 2, 1, 0.3, 0.09 },   { 1, 2, 0.3, 0.51 },
		{ 0.5, 0.5, 0.5, 0.5 }, { 2, 3, 0.5, 0.6875 }, { 2, 3, 0.9, 0.9963 },
		{ 5, 2, 0, 0 },		{ 5, 2, 1, 1 },	       { 396, 1, 0.99, 0.018686 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		near(statistics_beta(cases[i].a, cases[i].b, cases[i].x), cases[i].value, 1e-6);
	/* Symmetric ones are, however large. */
	near(statistics_beta(1e6, 1e6, 0.5), 0.5, 1e-6);
	near(statistics_beta(300, 7, 0.97) + statistics_beta(7, 300, 0.03), 1, 1e-12);
}

/* The tables of every textbook. */
FIXTURE_TEST(statistics_student_matches_known_quantiles)
{
	static const struct {
		double degrees, t;
	} of_95_percent[] = { { 1, 12.7062047 }, { 2, 4.3026527 },  { 5, 2.5705818 },
			      { 10, 2.2281389 }, { 30, 2.0422725 }, { 1e7, 1.9599642 } };

	for (size_t i = 0; i < sizeof(of_95_percent) / sizeof(of_95_percent[0]); i++) {
		near(statistics_student_quantile(0.05, of_95_percent[i].degrees),
		     of_95_percent[i].t, 1e-5);
		near(statistics_student(-of_95_percent[i].t, of_95_percent[i].degrees), 0.05, 1e-7);
	}
	near(statistics_student_quantile(0.01, 5), 4.0321430, 1e-6);
}

static void add(struct histogram *histogram, int64_t value)
{
	assert_int_equal(histogram_add(histogram, value), 0);
}

/* Exponential; a sum of two; R 4.2's pgamma(). */
FIXTURE_TEST(statistics_gamma_matches_known_values)
{
	near(statistics_gamma(1, 3), exp(-3), 1e-12);
	near(statistics_gamma(2, 3), 4 * exp(-3), 1e-12);
	near(statistics_gamma(2, 0.1), 1.1 * exp(-0.1), 1e-12);
	near(statistics_gamma(0.5, 2), erfc(sqrt(2)), 1e-12);
	near(statistics_gamma(3, 0), 1, 0);
	/* Nearly normal. */
	near(statistics_gamma(1e6, 1e6 + 1959.964), 0.025, 1e-4);
}

/* By hand: means 5.5 and 8.5, variances 9.1667 and 9.1667, 18 degrees of freedom. Of 20 values in
 * two halves, the permutation test finds about the same. */
FIXTURE_TEST(statistics_compares_means_like_welch)
{
	struct statistics_sample before, after;
	struct difference difference;

	for (int i = 1; i <= 10; i++) {
		add(&first, i);
		add(&second, i + 3);
	}
	before = statistics_sample_of(&first);
	after = statistics_sample_of(&second);
	near(before.mean, 5.5, 1e-12);
	near(before.variance, 55 / 6.0, 1e-12);
	near(before.third, 0, 1e-9);
	assert_true(statistics_compare_samples(&before, &after, &difference));
	near(difference.value, 3, 1e-12);
	near(difference.low, 3 - 2.1009220 * 1.3540064, 0.2);
	assert_true(difference.low <= 3 - 2.1009219 * 1.3540063);
	near(difference.low + difference.high, 6, 1e-6);
	near(difference.probability, 0.0397, 0.005);
	assert_true(difference.probability >= 0.0397 - 5e-4);
	assert_true(statistics_compare_means(&first, &second, &difference));
	near(difference.probability, 0.0397, 0.02);
}

/* Of one value in a thousand that is large: by Welch's test few values without one differ. */
FIXTURE_TEST(statistics_ignores_missing_tail_in_small_sample)
{
	struct statistics_sample before, after;
	struct difference difference;

	for (int i = 0; i < 12; i++)
		add(&first, 1000000 + i * 20000);
	for (int i = 0; i < 1200; i++)
		add(&second, i % 100 ? 1000000 + i % 12 * 20000 : 100000000);
	assert_true(statistics_compare_means(&first, &second, &difference));
	assert_false(statistics_is_change(&difference, difference.probability));
	assert_true(difference.probability > 0.3);
	assert_true(difference.low < 0 && difference.high > 1e6);
	before = statistics_sample_of(&second);
	after = statistics_sample_of(&first);
	assert_true(statistics_compare_samples(&before, &after, &difference));
	assert_true(difference.probability > 0.3);
}

/* A probability that no drawn permutations tell, however many comparisons it is corrected for. */
FIXTURE_TEST(statistics_detects_large_change_in_small_samples)
{
	struct difference difference;

	for (int i = 0; i < 20; i++) {
		add(&first, 1000000 + i * 20000);
		add(&second, 1000 * (1000000 + i * 20000));
	}
	assert_int_equal(statistics_compare_means(&first, &second, &difference), 1);
	assert_true(difference.probability < 0.05 / 10000);
	assert_true(difference.low > 0);
}

/* Variances 9.1667 and 916.67: 9.18 degrees of freedom. */
FIXTURE_TEST(statistics_uses_degrees_of_more_variable_sample)
{
	struct difference difference;

	for (int i = 1; i <= 10; i++) {
		add(&first, i);
		add(&second, 10 * i);
	}
	assert_true(statistics_compare_means(&first, &second, &difference));
	near(difference.value, 49.5, 1e-12);
	assert_true(difference.high - difference.value > 21.7);
	assert_true(statistics_compare_means(&second, &first, &difference));
	near(difference.value, -49.5, 1e-12);
}

FIXTURE_TEST(statistics_compares_no_mean_of_few_or_equal_values)
{
	struct difference difference = { .value = -1 };

	for (int i = 0; i < STATISTICS_MEAN_MIN - 1; i++) {
		add(&first, i);
		add(&second, i);
	}
	add(&second, 1);
	assert_false(statistics_compare_means(&first, &second, &difference));
	assert_false(statistics_compare_means(&second, &first, &difference));
	add(&first, 1);
	assert_true(statistics_compare_means(&first, &second, &difference));
	(void)teardown(NULL);
	for (int i = 0; i < 100; i++) {
		add(&first, 5);
		add(&second, 6);
	}
	assert_true(statistics_compare_means(&first, &second, &difference));
	near(difference.value, 1, 0);
	near(difference.low, 1, 0);
	near(difference.probability, 0, 1e-12);
	(void)teardown(NULL);
	for (int i = 0; i < 100; i++) {
		add(&first, 5);
		add(&second, 5);
	}
	difference.value = -1;
	assert_false(statistics_compare_means(&first, &second, &difference));
	near(difference.value, -1, 0);
}

FIXTURE_TEST(statistics_percentile_requires_minimum_sample)
{
	struct difference difference;

	for (int i = 0; i < 367; i++) {
		add(&first, i);
		add(&second, i);
	}
	add(&second, 367);
	assert_false(statistics_compare_percentiles(&first, &second, 99, &difference));
	assert_false(statistics_compare_percentiles(&second, &first, 99, &difference));
	add(&first, 367);
	assert_true(statistics_compare_percentiles(&first, &second, 99, &difference));
	near(difference.value, 0, 0);
	assert_true(difference.probability > 0.5);
	assert_true(difference.low < 0 && difference.high > 0);
	assert_int_equal(statistics_needed(99), 368);
	assert_int_equal(statistics_needed(50), 6);
}

FIXTURE_TEST(statistics_bounds_difference_of_disjoint_percentiles)
{
	struct difference difference;

	for (int i = 0; i < 1000; i++) {
		add(&first, 40);
		add(&second, 50);
	}
	assert_true(statistics_compare_percentiles(&first, &second, 99, &difference));
	near(difference.value, 10, 0);
	/* And half a bucket of each: they are 1 wide there. */
	near(difference.low, 9, 1e-6);
	near(difference.high, 11, 1e-6);
	/* All 20 of 2000 that are beyond are of one sample. */
	near(difference.probability, 0, 1e-5);
	assert_true(statistics_compare_percentiles(&second, &first, 50, &difference));
	near(difference.value, -10, 0);
	near(difference.high, -9, 1e-6);
}

/* Of 16 values 8 are high, 6 of them of one sample's 8: hypergeometric, 0.06597 so far out, of
 * which half of 0.06092 counts. */
FIXTURE_TEST(statistics_compares_median_by_values_beyond_it)
{
	struct difference difference;

	for (int i = 0; i < 8; i++) {
		add(&first, i < 6 ? 10 : 30);
		add(&second, i < 2 ? 10 : 30);
	}
	assert_true(statistics_compare_percentiles(&first, &second, 50, &difference));
	near(difference.probability, 2 * 0.065967 - 0.060917, 1e-5);
	near(difference.value, 20, 0);
	assert_true(difference.low < 0);
	assert_false(statistics_is_change(&difference, 0.04));
}

/* As of sleeps: what differs by less than a bucket's width is the same. */
FIXTURE_TEST(statistics_ignores_difference_within_one_bucket)
{
	struct difference difference;

	for (int i = 0; i < 400; i++) {
		add(&first, 300000000 + i);
		add(&second, 300000100 + i);
	}
	assert_true(statistics_compare_percentiles(&first, &second, 99, &difference));
	near(difference.probability, 1, 1e-9);
	assert_true(difference.low < -4000000 && difference.high > 4000000);
}

/* The last bucket ends where 63 bits do. */
FIXTURE_TEST(statistics_compares_int64_max_values)
{
	struct difference difference;

	for (int i = 0; i < 400; i++) {
		add(&first, INT64_MAX);
		add(&second, INT64_MAX);
	}
	assert_int_equal(statistics_compare_percentiles(&first, &second, 99, &difference), 1);
	near(difference.value, 0, 0);
}

FIXTURE_TEST(statistics_returns_enomem_without_memory)
{
	struct difference difference;

	for (int i = 0; i < 400; i++) {
		add(&first, 1000 + i);
		add(&second, 5000 + i);
	}
	memory_fails_after(0);
	assert_int_equal(statistics_compare_percentiles(&first, &second, 99, &difference), -ENOMEM);
	memory_never_fails();
	assert_int_equal(statistics_compare_percentiles(&first, &second, 99, &difference), 1);
	histogram_deinit(&second);
	for (int i = 0; i < 20; i++)
		add(&second, 5000 + i * 100);
	memory_fails_after(0);
	assert_int_equal(statistics_compare_means(&first, &second, &difference), -ENOMEM);
	memory_never_fails();
}

FIXTURE_TEST(statistics_correct_applies_stepwise_correction)
{
	double some[] = { 0.04, 0.01, 0.03, 0.9 };

	assert_int_equal(statistics_correct(some, 4), 0);
	near(some[1], 0.04, 1e-12);
	near(some[2], 0.09, 1e-12);
	near(some[0], 0.09, 1e-12); /* 0.08 would be less than a smaller one's */
	near(some[3], 0.9, 1e-12);
	some[0] = 0.7;
	some[1] = 0.6;
	assert_int_equal(statistics_correct(some, 2), 0);
	near(some[1], 1, 0);
	near(some[0], 1, 0);
	memory_fails_after(0);
	assert_int_equal(statistics_correct(some, 2), -ENOMEM);
	memory_never_fails();
}

/* Uniform, above 0 and below 1. */
static double draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

/* Log-normal, as times of requests are: the median is 1 ms, and one in a hundred takes 8 ms. */
static int64_t draw_request(uint64_t *state)
{
	double normal = sqrt(-2 * log(draw(state))) * cos(2 * M_PI * draw(state));

	return (int64_t)(1e6 * exp(0.9 * normal));
}

static void draw_sample(uint64_t *state, struct histogram *histogram, double factor)
{
	for (int i = 0; i < REQUESTS; i++)
		add(histogram, (int64_t)((double)draw_request(state) * factor));
}

/* How often the mean and the 99th percentile are said to differ, at 5 %, uncorrected. */
static void count_changes(double factor, int ret_changes[static 2], int ret_missed[static 2],
			  double mean, double percentile)
{
	uint64_t seed = 20261122;

	ret_changes[0] = ret_changes[1] = ret_missed[0] = ret_missed[1] = 0;
	for (int i = 0; i < TRIALS; i++) {
		struct difference means, percentiles;

		draw_sample(&seed, &first, 1);
		draw_sample(&seed, &second, factor);
		assert_true(statistics_compare_means(&first, &second, &means));
		assert_true(statistics_compare_percentiles(&first, &second, 99, &percentiles));
		ret_changes[0] += statistics_is_change(&means, means.probability);
		ret_changes[1] += statistics_is_change(&percentiles, percentiles.probability);
		ret_missed[0] += means.low > mean || means.high < mean;
		ret_missed[1] += percentiles.low > percentile || percentiles.high < percentile;
		(void)teardown(NULL);
	}
	print_message("factor %g: changed %d %d, missed %d %d of %d\n", factor, ret_changes[0],
		      ret_changes[1], ret_missed[0], ret_missed[1], TRIALS);
}

/* 5 % of 1000 are 50, and by chance from 30 to 70 (three standard deviations). */
FIXTURE_TEST(statistics_false_positive_rate_is_about_five_percent)
{
	int changes[2], missed[2];

	count_changes(1, changes, missed, 0, 0);
	for (int i = 0; i < 2; i++) {
		assert_true(changes[i] >= 20 && changes[i] <= 70);
		assert_true(missed[i] >= 20 && missed[i] <= 70);
	}
}

/* The interval holds the true difference as often as it says: of the log-normal, mean
 * e^(0.9^2/2), 99th percentile e^(0.9*2.3263). */
FIXTURE_TEST(statistics_interval_covers_true_difference)
{
	double mean = 0.5 * 1e6 * exp(0.405), percentile = 0.5 * 1e6 * exp(0.9 * 2.3263479);
	int changes[2], missed[2];

	count_changes(1.5, changes, missed, mean, percentile);
	assert_true(changes[0] > 980);
	assert_true(missed[0] >= 20 && missed[0] <= 80);
	assert_true(missed[1] >= 20 && missed[1] <= 80);
}
