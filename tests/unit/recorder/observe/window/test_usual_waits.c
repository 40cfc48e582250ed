/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/usual_waits.h"

#include <stdio.h>

#include "unit_test.h"

#include "failing_memory.h"

/* As many waits of that length; returns how many were long. */
static unsigned int learn(struct usual_waits *waits, const char *value, unsigned int count,
			  uint64_t wait_ns)
{
	unsigned int is_long = 0;

	for (unsigned int i = 0; i < count; i++)
		is_long += usual_waits_learn(waits, value, wait_ns);
	return is_long;
}

TEST(usual_waits_know_value_after_100_waits)
{
	_cleanup_(usual_waits_freep) struct usual_waits *waits = usual_waits_new(99);

	assert_int_equal(learn(waits, "a", 99, 2 * NS_PER_MS), 0);
	assert_int_equal(learn(waits, "a", 1, NS_PER_S), 0);
	/* One of 100 was as long. */
	assert_int_equal(learn(waits, "a", 1, NS_PER_S), 0);
	assert_int_equal(learn(waits, "a", 1, 2 * NS_PER_S), 1);
	assert_int_equal(learn(waits, "a", 500, 2 * NS_PER_MS), 0);
	/* 3 of 602 were as long, and then 4 of 603; of 1 % there would be 6. */
	assert_int_equal(learn(waits, "a", 10, NS_PER_S), 4);
}

TEST(usual_waits_are_of_each_value)
{
	_cleanup_(usual_waits_freep) struct usual_waits *waits = usual_waits_new(90);

	(void)learn(waits, "slow", 10, 50 * NS_PER_MS);
	(void)learn(waits, "fast", 10, 2 * NS_PER_MS);
	(void)learn(waits, NULL, 10, 2 * NS_PER_S);
	assert_int_equal(learn(waits, "slow", 1, 20 * NS_PER_MS), 0);
	assert_int_equal(learn(waits, "fast", 1, 20 * NS_PER_MS), 1);
	assert_int_equal(learn(waits, NULL, 1, NS_PER_S), 0);
	assert_int_equal(learn(waits, "", 1, 3 * NS_PER_S), 1);
}

/* Each wait is one that was never as long, so it is long; the next shorter step is not. */
TEST(usual_waits_tell_lengths_of_an_eighth_apart)
{
	for (uint64_t wait_ns = USUAL_WAITS_LEAST_NS; wait_ns < UINT64_MAX / 2; wait_ns *= 2) {
		_cleanup_(usual_waits_freep) struct usual_waits *waits = usual_waits_new(50);
		bool is_last = wait_ns >= USUAL_WAITS_LEAST_NS << 29;

		assert_int_equal(learn(waits, "a", 5, wait_ns), 0);
		assert_int_equal(learn(waits, "a", 1, wait_ns + wait_ns / 16), 0);
		assert_int_equal(learn(waits, "a", 1, wait_ns + wait_ns / 8 + 1), !is_last);
	}
}

TEST(usual_waits_take_any_length)
{
	_cleanup_(usual_waits_freep) struct usual_waits *waits = usual_waits_new(50);

	assert_int_equal(learn(waits, "a", 4, 0), 0);
	assert_int_equal(learn(waits, "a", 1, USUAL_WAITS_LEAST_NS - 1), 0);
	assert_int_equal(learn(waits, "a", 1, UINT64_MAX), 1);
}

/* After a deploy all waits are ten times as long, and soon that is usual. */
TEST(usual_waits_forget)
{
	_cleanup_(usual_waits_freep) struct usual_waits *waits = usual_waits_new(99);

	(void)learn(waits, "a", USUAL_WAITS_HALVED_AT - 1, 2 * NS_PER_MS);
	assert_in_range(learn(waits, "a", 2000, 20 * NS_PER_MS), 1, 250);
	assert_int_equal(learn(waits, "a", 2000, 20 * NS_PER_MS), 0);
}

TEST(usual_waits_halve_counts_and_their_sum)
{
	_cleanup_(usual_waits_freep) struct usual_waits *waits = usual_waits_new(50);

	(void)learn(waits, "a", USUAL_WAITS_HALVED_AT, 2 * NS_PER_MS);
	/* As long as they are fewer than the half of those. */
	assert_int_equal(learn(waits, "a", USUAL_WAITS_HALVED_AT / 2 + 1, 20 * NS_PER_MS),
			 USUAL_WAITS_HALVED_AT / 2);
}

TEST(usual_waits_count_excess_values_as_one)
{
	_cleanup_(usual_waits_freep) struct usual_waits *waits = usual_waits_new(50);
	char value[16];

	for (int i = 0; i < USUAL_WAITS_VALUES; i++) {
		(void)snprintf(value, sizeof(value), "%d", i);
		(void)learn(waits, value, 2, 2 * NS_PER_MS);
	}
	(void)learn(waits, "one", 2, 20 * NS_PER_MS);
	assert_int_equal(learn(waits, "other", 1, 10 * NS_PER_MS), 0);
	assert_int_equal(learn(waits, "0", 1, 10 * NS_PER_MS), 1);
}

TEST(usual_waits_count_values_without_memory_as_one)
{
	_cleanup_(usual_waits_freep) struct usual_waits *waits = usual_waits_new(50);

	memory_fails_after(0);
	assert_null(usual_waits_new(50));
	(void)learn(waits, "one", 2, 20 * NS_PER_MS);
	assert_int_equal(learn(waits, "other", 1, 10 * NS_PER_MS), 0);
	assert_int_equal(learn(waits, "other", 1, 40 * NS_PER_MS), 1);
	memory_never_fails();
}
