/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include <correlator/clock_offset.h>

enum {
	PERIOD_NS = 1000 * 1000,
	LATE_NS = 7 * 1000 * 1000
};

#define SECOND_NS 1000000000ULL

/* A reading a period later, late by so much, of clocks that are so far apart. */
static void take(struct clock_offset *offset, uint64_t apart_ns, uint64_t late_ns)
{
	clock_offset_take(offset, apart_ns + late_ns, offset->seen_at_ns + PERIOD_NS);
}

static struct clock_offset settled(uint64_t apart_ns)
{
	struct clock_offset offset = { 0 };

	take(&offset, apart_ns, 300);
	take(&offset, apart_ns, 0);
	assert_int_equal(offset.ns, apart_ns);
	return offset;
}

TEST(clock_offset_late_readings_add_at_most_drift)
{
	struct clock_offset offset = settled(5000);

	for (int i = 0; i < 100; i++) {
		take(&offset, 5000, i % CLOCK_OFFSET_STEP_READINGS ? LATE_NS : 0);
		assert_in_range(offset.ns, 5000, 5000 + 4 * PERIOD_NS / CLOCK_OFFSET_DRIFT_DIVISOR);
	}
}

TEST(clock_offset_follows_step_forward_at_fourth_reading)
{
	const uint64_t apart_ns = 3600 * SECOND_NS;
	struct clock_offset offset = settled(5000);

	/* The smallest of them: the first ones were late. */
	for (int i = CLOCK_OFFSET_STEP_READINGS; i > 0; i--) {
		assert_in_range(offset.ns, 5000, 5000 + 4 * PERIOD_NS);
		take(&offset, apart_ns, (uint64_t)(i - 1) * 50000);
	}
	assert_int_equal(offset.ns, apart_ns);
	take(&offset, apart_ns, LATE_NS);
	assert_int_equal(offset.ns, apart_ns + PERIOD_NS / CLOCK_OFFSET_DRIFT_DIVISOR);
}

/* One that was begun and not followed says nothing of the next. */
TEST(clock_offset_follows_step_to_its_smallest_reading)
{
	const uint64_t apart_ns = 3600 * SECOND_NS;
	struct clock_offset offset = settled(5000);

	take(&offset, apart_ns / 2, 0);
	take(&offset, 5000, 0);
	assert_int_equal(offset.ns, 5000);
	for (unsigned int i = 0; i < CLOCK_OFFSET_STEP_READINGS; i++)
		take(&offset, apart_ns, i * 50000);
	assert_int_equal(offset.ns, apart_ns);
}

TEST(clock_offset_needs_as_many_readings_for_next_step)
{
	struct clock_offset offset = settled(5000);

	for (uint64_t step = 1; step <= 3; step++)
		for (unsigned int i = 1; i <= CLOCK_OFFSET_STEP_READINGS; i++) {
			take(&offset, step * SECOND_NS, 0);
			assert_int_equal(offset.ns > step * SECOND_NS - SECOND_NS / 2,
					 i == CLOCK_OFFSET_STEP_READINGS);
		}
}

/* 100 us more than drift allows is a late reading still, and none of the four. */
TEST(clock_offset_does_not_count_drift_as_step)
{
	const uint64_t drift_ns = PERIOD_NS / CLOCK_OFFSET_DRIFT_DIVISOR;
	struct clock_offset offset = settled(5000);

	take(&offset, 5000 + drift_ns, CLOCK_OFFSET_STEP_NS);
	assert_int_equal(offset.ns, 5000 + drift_ns);
	for (unsigned int i = 1; i < CLOCK_OFFSET_STEP_READINGS; i++)
		take(&offset, SECOND_NS, 0);
	assert_in_range(offset.ns, 5000, 5000 + CLOCK_OFFSET_STEP_READINGS * drift_ns);
	take(&offset, SECOND_NS, 0);
	assert_int_equal(offset.ns, SECOND_NS);
}

TEST(clock_offset_ignores_larger_reading_at_same_time)
{
	struct clock_offset offset = settled(5000);

	clock_offset_take(&offset, 5000 + 300, offset.seen_at_ns);
	assert_int_equal(offset.ns, 5000);
}

TEST(clock_offset_follows_step_back_at_once)
{
	struct clock_offset offset = settled(3600 * SECOND_NS);

	take(&offset, (uint64_t)-5000, 0);
	assert_int_equal(offset.ns, (uint64_t)-5000);
	take(&offset, (uint64_t)-5000, 100);
	assert_int_equal((int64_t)offset.ns, -4900);
}

TEST(clock_offset_restarts_when_run_queue_clock_goes_back)
{
	struct clock_offset offset = settled(5000);

	clock_offset_take(&offset, 90 * SECOND_NS, offset.seen_at_ns - 1);
	assert_int_equal(offset.ns, 90 * SECOND_NS);
}

TEST(clock_offset_follows_drift_both_ways)
{
	const int64_t drift_ns = PERIOD_NS / CLOCK_OFFSET_DRIFT_DIVISOR;

	for (int sign = -1; sign <= 1; sign += 2) {
		uint64_t apart_ns = SECOND_NS;
		struct clock_offset offset = settled(apart_ns);

		for (int i = 0; i < 10000; i++) {
			apart_ns += (uint64_t)(sign * drift_ns);
			take(&offset, apart_ns, i % 3 ? 900 : 0);
			assert_in_range(offset.ns, apart_ns, apart_ns + 3 * 500);
		}
	}
}
