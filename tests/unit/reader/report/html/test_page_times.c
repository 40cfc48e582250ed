/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/report/html/page_times.h"
#include "record/sample.h"

static struct page_times times;

static int setup(void **state)
{
	(void)state;
	return page_times_init(&times, 6);
}

static int teardown(void **state)
{
	(void)state;
	page_times_deinit(&times);
	return 0;
}

/* Gives the times a record of a line (sample_record), at a time. */
__attribute__((format(printf, 2, 3))) static int add(uint64_t wall_ns, const char *format, ...)
{
	static struct record_view view;
	struct sample sample;
	va_list values;
	int r;

	va_start(values, format);
	sample_record_v(&sample, format, values);
	va_end(values);
	sample_decode(&sample, &view);
	view.wall_ns = wall_ns;
	r = page_times_add(&times, &view);
	msgpack_sbuffer_destroy(&sample.buffer);
	return r;
}

static void add_window(uint64_t wall_ns)
{
	assert_int_equal(add(wall_ns, "cpu pid=1 window_ns=10"), 0);
}

static void expect_ends(const uint64_t *ends, size_t count)
{
	assert_int_equal(times.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(times.times[i].end_ns, ends[i]);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(page_times_sort_windows_by_end)
{
	static const uint64_t walls[] = { 300, 100, 200, 100, 300, 50 };
	static const uint64_t ends[] = { 50, 100, 200, 300 };

	for (size_t i = 0; i < 6; i++)
		add_window(walls[i]);
	expect_ends(ends, 4);
	assert_int_equal(times.times[1].start_ns, 90);
	assert_int_equal(times.merged_count, 0);
}

FIXTURE_TEST(page_times_find_later_window_between_two_ends)
{
	add_window(100);
	add_window(200);
	assert_int_equal(page_times_find(&times, 1), 0);
	assert_int_equal(page_times_find(&times, 100), 0);
	assert_int_equal(page_times_find(&times, 101), 1);
	assert_int_equal(page_times_find(&times, 200), 1);
	assert_int_equal(page_times_find(&times, 201), 1);
}

FIXTURE_TEST(page_times_derive_start_from_window_length)
{
	assert_int_equal(add(100, "self pid=1 window_ns=60 own_cpu_ns=7"), 0);
	assert_int_equal(times.times[0].start_ns, 100);
	assert_int_equal(add(100, "self pid=1 window_ns=60 own_cpu_ns=8"), 0);
	assert_int_equal(times.times[0].self_cpu_ns, 15);
	assert_int_equal(add(100, "cpu pid=1 window_ns=30"), 0);
	assert_int_equal(add(100, "cpu pid=1 window_ns=20"), 0);
	assert_int_equal(times.times[0].start_ns, 70);
	assert_int_equal(add(200, "gap pid=1 window_ns=30 dropped_records=5"), 0);
	assert_int_equal(times.times[1].start_ns, 200);
	assert_int_equal(times.times[1].books.dropped_records, 5);
	/* Longer than time itself. */
	assert_int_equal(add(200, "cpu pid=1 window_ns=300"), 0);
	assert_int_equal(times.times[1].start_ns, 0);
	assert_int_equal(times.times[0].self_cpu_ns, 15);
	assert_int_equal(add(300, "cpu pid=1 window_ns=10 own_cpu_ns=5"), 0);
	assert_int_equal(times.times[2].self_cpu_ns, 0);
}

FIXTURE_TEST(page_times_add_balance_to_books)
{
	assert_int_equal(add(100, "balance pid=1 window_ns=30 exec_ns=5"), -EBADMSG);
	assert_int_equal(add(100, "balance pid=1 window_ns=40 exec_ns=10 attributed_ns=4 "
				  "unattributed_ns=3 overflow_ns=2 residual_ns=1"),
			 0);
	assert_int_equal(times.times[0].books.exec_ns, 10);
	assert_int_equal(times.times[0].books.balance_count, 1);
	assert_int_equal(times.times[0].start_ns, 60);
}

FIXTURE_TEST(page_times_halve_merges_adjacent_windows)
{
	static const uint64_t even[] = { 200, 400 }, odd[] = { 200, 400, 500 };

	for (uint64_t end = 100; end <= 400; end += 100) {
		add_window(end);
		assert_int_equal(add(end, "self pid=1 window_ns=0 own_cpu_ns=%lu", end), 0);
		assert_int_equal(add(end, "gap pid=1 window_ns=0 dropped_records=1"), 0);
	}
	page_times_halve(&times);
	expect_ends(even, 2);
	assert_int_equal(times.times[0].start_ns, 90);
	assert_int_equal(times.times[1].start_ns, 290);
	assert_int_equal(times.times[1].self_cpu_ns, 700);
	assert_int_equal(times.times[1].books.dropped_records, 2);
	assert_int_equal(times.merged_count, 2);
	add_window(500);
	expect_ends(odd, 3);
	page_times_halve(&times);
	assert_int_equal(times.count, 2);
	assert_int_equal(times.times[0].end_ns, 200);
	assert_int_equal(times.times[1].start_ns, 290);
	assert_int_equal(times.times[1].end_ns, 500);
	/* What comes late is of what its window is part of now. */
	add_window(150);
	assert_int_equal(times.count, 2);
	add_window(450);
	assert_int_equal(times.count, 2);
}

FIXTURE_TEST(page_times_halve_keeps_earliest_start)
{
	assert_int_equal(add(100, "cpu pid=1 window_ns=10"), 0);
	assert_int_equal(add(200, "cpu pid=1 window_ns=150"), 0);
	page_times_halve(&times);
	assert_int_equal(times.count, 1);
	assert_int_equal(times.times[0].start_ns, 50);
}

FIXTURE_TEST(page_times_stay_within_limit)
{
	for (uint64_t end = 100; end <= 600; end += 100)
		add_window(end);
	assert_int_equal(times.count, 6);
	assert_int_equal(times.merged_count, 0);
	add_window(700);
	assert_int_equal(times.count, 4);
	assert_int_equal(times.times[0].end_ns, 200);
	assert_int_equal(times.times[3].end_ns, 700);
	assert_int_equal(times.times[3].start_ns, 690);
	for (uint64_t end = 800; end <= 10000; end += 100) {
		add_window(end);
		assert_in_range(times.count, 3, 6);
		assert_int_equal(times.times[times.count - 1].end_ns, end);
	}
	assert_int_equal(times.times[0].start_ns, 90);
}

TEST(page_times_init_fails_without_memory)
{
	struct page_times none;

	memory_fails_after(0);
	assert_int_equal(page_times_init(&none, 2), -ENOMEM);
	memory_fails_after(SIZE_MAX);
}
