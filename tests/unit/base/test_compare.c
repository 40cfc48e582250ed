/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/compare.h"

#include "unit_test.h"

/* A difference would not fit into an int, or into 64 bits. */
TEST(compare_u64_orders_numbers_at_any_distance)
{
	assert_true(compare_u64(1, 2) < 0 && compare_u64(2, 1) > 0);
	assert_int_equal(compare_u64(UINT64_MAX, UINT64_MAX), 0);
	assert_true(compare_u64(0, UINT64_MAX) < 0 && compare_u64(UINT64_MAX, 0) > 0);
	assert_true(compare_u64(0, (uint64_t)1 << 32) < 0 && compare_u64((uint64_t)1 << 32, 0) > 0);
}

TEST(compare_i64_orders_numbers_at_any_distance)
{
	assert_true(compare_i64(-1, 0) < 0 && compare_i64(0, -1) > 0);
	assert_int_equal(compare_i64(INT64_MIN, INT64_MIN), 0);
	assert_true(compare_i64(INT64_MIN, INT64_MAX) < 0 && compare_i64(INT64_MAX, INT64_MIN) > 0);
}

TEST(compare_double_orders_fractions)
{
	assert_true(compare_double(0.25, 0.5) < 0 && compare_double(0.5, 0.25) > 0);
	assert_int_equal(compare_double(-0.5, -0.5), 0);
}
