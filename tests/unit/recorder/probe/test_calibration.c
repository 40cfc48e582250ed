/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of what the calibrator measured a window goes by. */
#include "recorder/probe/calibration.h"

#include <stdlib.h>

#include "unit_test.h"

#include "base/clock.h"
#include "recorder/probe/calibrator.h"
#include "recorder/probe/session.h"

#define NOW_NS	 (1000 * NS_PER_S)
#define SINCE_NS (995 * NS_PER_S)

struct bench {
	struct calibration_samples samples;
	struct session_ways ways;
};

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct bench));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void add(struct bench *bench, enum calibration_kind kind, uint64_t ktime_ns, double way_ns)
{
	bench->samples.ring[bench->samples.written++ % CALIBRATION_SAMPLES_MAX] =
		(struct calibration_sample){ .kind = kind, .ktime_ns = ktime_ns, .way_ns = way_ns };
}

static const struct session_ways *choose(struct bench *bench, uint64_t since_ns)
{
	calibration_choose(&bench->samples, since_ns, NOW_NS, &bench->ways);
	return &bench->ways;
}

#define CHOOSING(test) TEST_WITH(test, set_up, tear_down)

CHOOSING(calibration_chooses_nothing_from_empty_ring)
{
	struct bench *bench = *state;
	const struct session_ways *ways;

	bench->ways.hot_count = bench->ways.lone_count = bench->ways.slept_count = 7;
	ways = choose(bench, 0);
	assert_int_equal(ways->hot_count + ways->lone_count + ways->slept_count, 0);
}

CHOOSING(calibration_separates_kinds_and_orders_newest_first)
{
	struct bench *bench = *state;
	const struct session_ways *ways;

	for (int i = 0; i < 3; i++) {
		add(bench, CALIBRATION_HOT, SINCE_NS + 1, 10 + i);
		add(bench, CALIBRATION_LONE, SINCE_NS + 1, 20 + i);
		add(bench, CALIBRATION_SLEPT, SINCE_NS + 1, 30 + i);
	}
	ways = choose(bench, SINCE_NS);
	assert_int_equal(ways->hot_count, 3);
	assert_int_equal(ways->lone_count, 3);
	assert_int_equal(ways->slept_count, 3);
	for (int i = 0; i < 3; i++) {
		assert_true(ways->hot_ns[i] == 12 - i);
		assert_true(ways->lone_ns[i] == 22 - i);
		assert_true(ways->slept_ns[i] == 32 - i);
	}
}

CHOOSING(calibration_fills_up_to_30_hot_samples_from_before_window)
{
	struct bench *bench = *state;

	for (int i = 0; i < 40; i++)
		add(bench, CALIBRATION_HOT, SINCE_NS - 1, 1);
	assert_int_equal(choose(bench, SINCE_NS)->hot_count, 30);
	for (int i = 0; i < 29; i++)
		add(bench, CALIBRATION_HOT, SINCE_NS, 2);
	assert_int_equal(choose(bench, SINCE_NS)->hot_count, 30);
	assert_true(bench->ways.hot_ns[28] == 2);
	assert_true(bench->ways.hot_ns[29] == 1);
	for (int i = 0; i < 11; i++)
		add(bench, CALIBRATION_HOT, NOW_NS, 2);
	assert_int_equal(choose(bench, SINCE_NS)->hot_count, 40);
}

CHOOSING(calibration_keeps_last_60_lone_and_slept_samples)
{
	struct bench *bench = *state;

	for (int i = 0; i < 61; i++) {
		add(bench, CALIBRATION_LONE, NOW_NS, i);
		add(bench, CALIBRATION_SLEPT, NOW_NS, i);
	}
	assert_int_equal(choose(bench, SINCE_NS)->lone_count, 60);
	assert_int_equal(bench->ways.slept_count, 60);
	assert_true(bench->ways.lone_ns[59] == 1);
	assert_true(bench->ways.slept_ns[59] == 1);
}

CHOOSING(calibration_ignores_samples_older_than_15_s_and_window)
{
	struct bench *bench = *state;

	add(bench, CALIBRATION_HOT, NOW_NS - 15 * NS_PER_S - 1, 1);
	add(bench, CALIBRATION_HOT, NOW_NS - 15 * NS_PER_S, 2);
	assert_int_equal(choose(bench, SINCE_NS)->hot_count, 1);
	/* A window that is longer. */
	assert_int_equal(choose(bench, NOW_NS - 15 * NS_PER_S - 1)->hot_count, 2);
	assert_int_equal(choose(bench, NOW_NS - 15 * NS_PER_S)->hot_count, 1);
	assert_int_equal(choose(bench, 0)->hot_count, 2);
}

CHOOSING(calibration_skips_ring_slot_that_may_be_overwritten)
{
	struct bench *bench = *state;

	/* Of as many kinds as there is room for in the answer. */
	for (int i = 0; i < 3 * CALIBRATION_SAMPLES_MAX + 5; i++)
		add(bench, i % CALIBRATION_SAMPLES_MAX == 5 ? CALIBRATION_LONE : CALIBRATION_HOT,
		    NOW_NS, 1);
	/* The oldest is at 5. */
	assert_int_equal(bench->samples.written % CALIBRATION_SAMPLES_MAX, 5);
	assert_int_equal(choose(bench, SINCE_NS)->lone_count, 0);
	bench->samples.ring[6].kind = CALIBRATION_SLEPT;
	assert_int_equal(choose(bench, SINCE_NS)->slept_count, 1);
}

CHOOSING(calibration_limits_samples_to_result_capacity)
{
	struct bench *bench = *state;

	for (int i = 0; i < SESSION_WAYS_MAX + 3; i++)
		add(bench, CALIBRATION_HOT, NOW_NS, i);
	assert_int_equal(choose(bench, SINCE_NS)->hot_count, SESSION_WAYS_MAX);
	assert_true(bench->ways.hot_ns[SESSION_WAYS_MAX - 1] == 3);
}
