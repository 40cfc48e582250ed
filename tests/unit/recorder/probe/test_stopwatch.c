/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/probe/stopwatch.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"

TEST(stopwatch_call_passes_four_arguments_in_order)
{
	static const char text[] = "0123456789";
	char buffer[4] = "";
	int fd = memfd_create("stopwatch", MFD_CLOEXEC);
	struct call call = {
		.number = SYS_pread64,
		.arguments = { fd, (long)(uintptr_t)buffer, 3, 5 },
	};

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(stopwatch_call(&call), 3);
	assert_string_equal(buffer, "567");
	assert_true(call.before > 0);
	assert_true(call.after > call.before);
	assert_int_equal(close(fd), 0);
}

TEST(stopwatch_counts_exclude_cost_of_readings)
{
	const struct stopwatch stopwatch = { .pair_counts = 30 };
	const struct call call = { .before = 1000, .after = 1250 };

	assert_true(stopwatch_counts(&stopwatch, &call) == 220);
}

/* Against which it is nothing that a busy machine stops this test for a while. */
#define LONG_NS (100000 * NS_PER_S)

/* As one that was set at first so long ago, by a counter of this speed. */
static struct stopwatch set_before(uint64_t ago_ns, double ns_per_count)
{
	struct stopwatch stopwatch = { 0 };

	stopwatch_set(&stopwatch);
	stopwatch.mark_ns -= ago_ns;
	stopwatch.mark_counts -= (uint64_t)((double)ago_ns / ns_per_count);
	return stopwatch;
}

TEST(stopwatch_first_set_marks_start)
{
	struct stopwatch stopwatch = { 0 };
	uint64_t before_ns = clock_monotonic_ns();

	stopwatch_set(&stopwatch);
	assert_true(stopwatch.is_set);
	assert_false(stopwatch.is_speed_known);
	assert_in_range(stopwatch.mark_ns, before_ns, clock_monotonic_ns());
	assert_true(stopwatch.pair_counts > 0);
	assert_true(stopwatch.ns_per_count == 0);
}

/* What others have left there, where the stopwatch will keep what it measures. */
static __attribute__((noinline)) void soil_stack(void)
{
	volatile unsigned char room[4096];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0xa5;
}

TEST(stopwatch_pair_costs_less_than_call_between)
{
	struct stopwatch stopwatch = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		struct call call = { .number = SYS_getppid };

		assert_int_equal(stopwatch_call(&call), getppid());
		if (call.after - call.before < least)
			least = call.after - call.before;
	}
	soil_stack();
	stopwatch_set(&stopwatch);
	assert_true(stopwatch.pair_counts > 0 && stopwatch.pair_counts < (double)least);
}

TEST(stopwatch_speed_is_preliminary_during_first_second)
{
	struct stopwatch stopwatch = set_before(NS_PER_S / 2, 4);
	uint64_t mark_ns = stopwatch.mark_ns;

	stopwatch_set(&stopwatch);
	assert_true(stopwatch.ns_per_count > 0 && stopwatch.ns_per_count < 77);
	assert_false(stopwatch.is_speed_known);
	assert_int_equal(stopwatch.mark_ns, mark_ns);
	/* Until then, the longer it is the better. */
	stopwatch.ns_per_count = 77;
	stopwatch_set(&stopwatch);
	assert_true(stopwatch.ns_per_count < 77);
}

TEST(stopwatch_speed_is_known_after_a_second)
{
	struct stopwatch stopwatch = set_before(LONG_NS, 4);
	uint64_t mark_ns = stopwatch.mark_ns, mark_counts = stopwatch.mark_counts;

	stopwatch_set(&stopwatch);
	assert_true(stopwatch.is_speed_known);
	assert_true(stopwatch.ns_per_count > 3.9 && stopwatch.ns_per_count < 4.01);
	assert_true(stopwatch.mark_ns >= mark_ns + LONG_NS);
	/* A counter that began when the machine was booted has not counted so far. */
	assert_true(stopwatch.mark_counts - mark_counts >= LONG_NS / 4);
	/* In between it stays. */
	stopwatch.ns_per_count = 77;
	stopwatch_set(&stopwatch);
	assert_true(stopwatch.ns_per_count == 77);
}

TEST(stopwatch_rejects_jump_of_speed)
{
	struct stopwatch stopwatch = set_before(LONG_NS, 4);

	/* As it drifts: in steps of less than a hundredth. */
	stopwatch.is_speed_known = true;
	stopwatch.ns_per_count = 4.02;
	stopwatch_set(&stopwatch);
	assert_true(stopwatch.ns_per_count < 4.01);
	stopwatch = set_before(LONG_NS, 4);
	stopwatch.is_speed_known = true;
	stopwatch.ns_per_count = 4.1;
	stopwatch_set(&stopwatch);
	assert_true(stopwatch.ns_per_count == 4.1);
	stopwatch = set_before(LONG_NS, 4);
	stopwatch.is_speed_known = true;
	stopwatch.ns_per_count = 3.9;
	stopwatch_set(&stopwatch);
	assert_true(stopwatch.ns_per_count == 3.9);
}
