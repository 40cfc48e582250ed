/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/cost/sampling.h"

#include <stdbool.h>

#include "unit_test.h"

#define START (1000 * NS_PER_S)

TEST(sampling_begins_first_sample_immediately)
{
	struct sampling sampling = { 0 };

	sampling_plan(&sampling, START, START + NS_PER_S, 12345);
	assert_int_equal(sampling.begin_ns, START);
	assert_int_equal(sampling.end_ns, START + SAMPLING_SAMPLE_NS);
}

/* Windows of a length, one after the other: what is measured of the time, in all. */
static uint64_t sample(uint64_t window_ns, uint64_t windows, unsigned int *ret_samples)
{
	struct sampling sampling = { 0 };
	uint64_t now_ns = START, sum_ns = 0, random = 88172645463325252;

	*ret_samples = 0;
	for (uint64_t window = 1; window <= windows; window++) {
		uint64_t end_ns = START + window * window_ns;

		while (true) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			sampling_plan(&sampling, now_ns, end_ns, random);
			if (sampling.begin_ns == UINT64_MAX)
				break;
			assert_true(sampling.begin_ns >= now_ns);
			assert_true(sampling.end_ns > sampling.begin_ns);
			assert_true(sampling.end_ns <= end_ns);
			sum_ns += sampling.end_ns - sampling.begin_ns;
			now_ns = sampling.end_ns;
			++*ret_samples;
		}
		now_ns = end_ns;
	}
	return sum_ns;
}

TEST(sampling_takes_one_sample_per_second_for_any_window_length)
{
	static const uint64_t windows_ms[] = { 100, 250, 1000, 3000, 60000 };
	unsigned int samples;

	for (size_t i = 0; i < sizeof(windows_ms) / sizeof(windows_ms[0]); i++) {
		uint64_t sum_ns =
			sample(windows_ms[i] * NS_PER_MS, 600 * 1000 / windows_ms[i], &samples);

		assert_in_range(samples, 540, 600);
		assert_int_equal(sum_ns, samples * SAMPLING_SAMPLE_NS);
	}
	/* A window that is shorter than a stretch is all of it. */
	assert_int_equal(sample(20 * NS_PER_MS, 500, &samples), 10 * 20 * NS_PER_MS);
	assert_int_equal(samples, 10);
}

TEST(sampling_places_sample_anywhere_in_the_second)
{
	struct sampling first = { .period_end_ns = START }, last = first;

	sampling_plan(&first, START, START + NS_PER_S, 0);
	sampling_plan(&last, START, START + NS_PER_S, NS_PER_S - SAMPLING_SAMPLE_NS);
	assert_int_equal(first.begin_ns, START);
	assert_int_equal(last.end_ns, START + NS_PER_S);
	assert_int_equal(last.end_ns - last.begin_ns, SAMPLING_SAMPLE_NS);
}

TEST(sampling_skips_window_remainder_too_short_for_a_sample)
{
	const uint64_t end_ns = START + NS_PER_S;
	struct sampling sampling = { .period_end_ns = end_ns - SAMPLING_SAMPLE_NS };

	sampling_plan(&sampling, START, end_ns, 0);
	assert_int_equal(sampling.begin_ns, end_ns - SAMPLING_SAMPLE_NS);
	assert_int_equal(sampling.end_ns, end_ns);
	sampling = (struct sampling){ .period_end_ns = end_ns - SAMPLING_SAMPLE_NS + 1 };
	sampling_plan(&sampling, START, end_ns, 0);
	assert_true(sampling.begin_ns == UINT64_MAX && sampling.end_ns == UINT64_MAX);
	/* The next window has it: as soon as it begins, at the latest. */
	assert_int_equal(sampling.period_end_ns, end_ns - SAMPLING_SAMPLE_NS + 1);
	sampling = (struct sampling){ 0 };
	sampling_plan(&sampling, end_ns, end_ns, 0);
	assert_true(sampling.begin_ns == UINT64_MAX && sampling.end_ns == UINT64_MAX);
}
