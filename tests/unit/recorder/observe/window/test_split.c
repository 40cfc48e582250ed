/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/split.h"

#include "unit_test.h"

enum {
	COUNT = 101 /* a value a percent */
};

static const struct split_way WAY = {
	.hot_ns = 150.25,
	.spread_ns = 10,
	.lone_excess_ns = 200,
	.slept_excess_ns = 3000,
};

static struct split split_of(struct account_totals totals)
{
	struct split split;

	split_account(&WAY, &totals, &split);
	assert_int_equal(split.user_ns + split.kernel_ns, totals.user_ns + totals.kernel_ns);
	assert_true(split.error_ns <= totals.user_ns + totals.kernel_ns);
	return split;
}

/* In no order. */
static void fill(double *values, int sign)
{
	for (int i = 0; i < COUNT; i++) {
		int number = sign > 0 ? i : COUNT - 1 - i;

		values[i * 37 % COUNT] = 20000 + sign * number * number;
	}
}

/* Of the squares of 0..100, the mean of 20..80 is 2810; 10 and 90 are the quantiles. */
TEST(split_estimate_is_middle_mean_with_quantile_spread)
{
	struct split_way way = { 0 };
	double hot_ns[COUNT];

	fill(hot_ns, 1);
	split_estimate(hot_ns, COUNT, NULL, 0, NULL, 0, &way);
	assert_true(way.hot_ns == 20000 + 2810);
	assert_true(way.spread_ns == 90 * 90 - 2810);
	fill(hot_ns, -1);
	split_estimate(hot_ns, COUNT, NULL, 0, NULL, 0, &way);
	assert_true(way.hot_ns == 20000 - 2810);
	assert_true(way.spread_ns == 90 * 90 - 2810);
	assert_true(way.lone_excess_ns == 0 && way.slept_excess_ns == 0);
}

TEST(split_estimate_takes_upper_quantile_as_excess_of_cold_calls)
{
	double hot_ns[] = { 100 }, lone_ns[COUNT], slept_ns[] = { 7000, 5000, 6000 };
	double fast_ns[] = { 99 };
	struct split_way way = { 0 };

	fill(lone_ns, 1);
	split_estimate(hot_ns, 1, lone_ns, COUNT, slept_ns, 3, &way);
	assert_true(way.lone_excess_ns == 20000 + 90 * 90 - 100);
	assert_true(way.slept_excess_ns == 6000 - 100);
	split_estimate(hot_ns, 1, fast_ns, 1, fast_ns, 1, &way);
	assert_true(way.lone_excess_ns == 0 && way.slept_excess_ns == 0);
}

TEST(split_estimate_without_samples_keeps_way_with_full_spread)
{
	struct split_way way = WAY;

	split_estimate(NULL, 0, NULL, 0, NULL, 0, &way);
	assert_true(way.hot_ns == WAY.hot_ns && way.spread_ns == WAY.hot_ns);
	assert_true(way.lone_excess_ns == WAY.lone_excess_ns);
	assert_true(way.slept_excess_ns == WAY.slept_excess_ns);
}

/* 4,000 ways, and half of what one cold call in 10 us takes more. */
TEST(split_moves_way_of_each_syscall_to_kernel_time)
{
	struct split split = split_of((struct account_totals){
		.user_ns = 1000000, .kernel_ns = 500000, .syscalls = 4000 });

	assert_int_equal(split.user_ns, 1000000 - 601000 - 150 * 100);
	assert_int_equal(split.kernel_ns, 500000 + 601000 + 150 * 100);
}

TEST(split_moves_no_more_than_user_time)
{
	struct split split = split_of(
		(struct account_totals){ .user_ns = 1000, .kernel_ns = 50, .syscalls = 4000 });

	assert_int_equal(split.user_ns, 0);
	assert_int_equal(split.kernel_ns, 1050);
	assert_int_equal(split.error_ns, 1050);
}

TEST(split_has_no_error_without_syscalls_and_theft)
{
	struct split split = split_of((struct account_totals){ .user_ns = 7, .kernel_ns = 8 });

	assert_int_equal(split.user_ns, 7);
	assert_int_equal(split.error_ns, 0);
}

/* 10 ns a call, half of what those take more that may be cold, and one at the ends. */
TEST(split_error_grows_with_syscalls_and_possible_cold_calls)
{
	assert_int_equal(
		split_of((struct account_totals){ .user_ns = 2000000, .syscalls = 1000 }).error_ns,
		10000 + 200 * 100 + 160);
	assert_int_equal(
		split_of((struct account_totals){ .user_ns = 2000000, .syscalls = 10 }).error_ns,
		100 + 10 * 100 + 160);
}

TEST(split_error_covers_longer_calls_that_lost_the_cpu)
{
	assert_int_equal(split_of((struct account_totals){ .user_ns = 2000000,
							   .syscalls = 10,
							   .switches_voluntary = 4,
							   .switches_involuntary = 1 })
				 .error_ns,
			 100 + 10 * 100 + 160 + 5 * 3000);
	assert_int_equal(split_of((struct account_totals){ .user_ns = 2000000,
							   .syscalls = 1,
							   .switches_involuntary = 1000 })
				 .error_ns,
			 10 + 100 + 160 + 2 * 3000);
}

/* It is taken from the larger part: what of it was the smaller one's is still in that. */
TEST(split_error_bounds_stolen_time_by_smaller_part)
{
	assert_int_equal(split_of((struct account_totals){
					  .user_ns = 2000000, .kernel_ns = 300, .stolen_ns = 5000 })
				 .error_ns,
			 300);
	assert_int_equal(split_of((struct account_totals){ .user_ns = 2000000,
							   .kernel_ns = 9000,
							   .stolen_ns = 5000 })
				 .error_ns,
			 5000);
	assert_int_equal(split_of((struct account_totals){
					  .user_ns = 2000000, .kernel_ns = 9000, .stolen_ns = 1 })
				 .error_ns,
			 1);
	assert_int_equal(split_of((struct account_totals){ .user_ns = 2000000,
							   .kernel_ns = 9000,
							   .stolen_ns = -5000 })
				 .error_ns,
			 0);
}
