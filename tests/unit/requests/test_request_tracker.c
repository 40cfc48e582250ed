/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "requests/request_tracker.h"

enum {
	START_S = 1600000000
};

static struct request_tracker *tracker;
static int64_t last_ms; /* when the last window ended */

static int set_up(void **state)
{
	(void)state;
	tracker = request_tracker_new(REQUESTS_OPEN_MAX);
	last_ms = 0;
	return tracker ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	request_tracker_free(tracker);
	return 0;
}

static int try_add(const char *id, const char *value, int64_t cpu_ns, int64_t first_ns,
		   int64_t last_ns)
{
	return request_tracker_add(
		tracker, &(struct request_charge){ .id = { id, strlen(id) },
						   .value = { value, strlen(value) },
						   .is_attributed = true,
						   .costs = { .sums = { [COST_CPU] = cpu_ns },
							      .record_count = 1,
							      .first_ns = first_ns,
							      .last_ns = last_ns } });
}

static void add(const char *id, const char *value, int64_t cpu_ns, int64_t first_ns,
		int64_t last_ns)
{
	assert_int_equal(try_add(id, value, cpu_ns, first_ns, last_ns), 0);
}

static uint64_t ns_of(int64_t ms)
{
	return START_S * NS_PER_S + (uint64_t)ms * NS_PER_MS;
}

static int64_t ms_of(uint64_t ns)
{
	return (int64_t)((ns - START_S * NS_PER_S) / NS_PER_MS);
}

/* Milliseconds since the start, from the end of the last one on. */
static void end_window(int64_t ms)
{
	const struct request_window window = { ns_of(last_ms), ns_of(ms) };

	request_tracker_end_window(tracker, &window);
	last_ms = ms;
}

/* Those that have ended, "value cpu wall " each. */
static void expect_ended(const char *expected)
{
	const struct ended_request *request;
	struct request_window window;
	char text[256] = "";
	size_t length = 0;

	while (request_tracker_next_window(tracker, &window))
		;
	while ((request = request_tracker_next_ended(tracker))) {
		int64_t wall_ns;

		assert_true(costs_wall_ns(&request->costs, &wall_ns));
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%.*s %d %d ",
					   (int)request->value.size_bytes,
					   request->value.size_bytes ? request->value.bytes : "",
					   (int)request->costs.sums[COST_CPU], (int)wall_ns);
	}
	assert_string_equal(text, expected);
}

#define TRACKED(test) TEST_WITH(test, set_up, tear_down)

TRACKED(tracker_sums_windows_of_request_and_ends_it_once)
{
	end_window(1000);
	add("a", "", 1, 100, 200);
	add("b", "B", 7, 50, 60);
	add("a", "A", 2, 90, 150);
	end_window(2000);
	expect_ended("");
	add("a", "", 4, 300, 400);
	end_window(3000);
	expect_ended("");
	/* The window that b was in last began at 1000, that of a at 2000. */
	end_window(4000);
	expect_ended("B 7 10 ");
	end_window(5000);
	expect_ended("A 7 310 ");
	end_window(60000);
	expect_ended("");
}

/* However much longer or shorter than a second its windows are, one comes for each. */
TRACKED(tracker_returns_each_window_once_with_its_requests)
{
	static const int64_t jitter_ms[] = { 0, 40, -30, 45, -45, 10, 0, -49, 49, 20 };
	int64_t given = 0;
	char id[16];

	for (int64_t i = 1; i <= 100; i++) {
		struct request_window window;
		int64_t before = given;

		for (int64_t request = 0; request < i % 7; request++) {
			(void)snprintf(id, sizeof(id), "%d-%d", (int)i, (int)request);
			add(id, "", i, 1, 2);
		}
		end_window(1000 * i + jitter_ms[i % 10]);
		while (request_tracker_next_window(tracker, &window)) {
			const struct ended_request *request;
			int64_t count = 0;

			given++;
			assert_int_equal(
				ms_of(window.start_ns),
				given > 1 ? 1000 * (given - 1) + jitter_ms[(given - 1) % 10] : 0);
			assert_int_equal(ms_of(window.end_ns),
					 1000 * given + jitter_ms[given % 10]);
			for (; (request = request_tracker_next_ended(tracker)); count++)
				assert_int_equal(request->costs.sums[COST_CPU], given);
			assert_int_equal(count, given % 7);
		}
		assert_int_equal(given - before, i >= 3);
	}
}

/* A pause of ours is a long window; behind it come those that waited, one by one. */
TRACKED(tracker_returns_all_due_windows_after_long_window)
{
	struct request_window window;
	int64_t given = 0;

	for (int64_t i = 1; i <= 2; i++)
		end_window(1000 * i);
	assert_false(request_tracker_next_window(tracker, &window));
	end_window(10000);
	for (; request_tracker_next_window(tracker, &window); given++)
		assert_int_equal(ms_of(window.end_ns), 1000 * (given + 1));
	assert_int_equal(given, 2);
	end_window(11000);
	assert_true(request_tracker_next_window(tracker, &window));
	assert_int_equal(ms_of(window.start_ns), 2000);
	assert_false(request_tracker_next_window(tracker, &window));
}

TRACKED(tracker_returns_oldest_window_when_queue_is_full)
{
	struct request_window window;

	for (int64_t i = 1; i < REQUEST_WINDOWS_MAX; i++) {
		end_window(i);
		assert_false(request_tracker_next_window(tracker, &window));
	}
	end_window(REQUEST_WINDOWS_MAX);
	assert_true(request_tracker_next_window(tracker, &window));
	assert_int_equal(ms_of(window.end_ns), 1);
	assert_false(request_tracker_next_window(tracker, &window));
}

TRACKED(tracker_finish_returns_windows_then_open_requests)
{
	struct request_window window;

	add("a", "A", 1, 1, 2);
	end_window(1000);
	add("b", "B", 1, 1, 2);
	end_window(2000);
	add("c", "C", 1, 1, 2);
	request_tracker_finish(tracker);
	assert_null(request_tracker_next_ended(tracker));
	assert_true(request_tracker_next_window(tracker, &window));
	assert_memory_equal(request_tracker_next_ended(tracker)->value.bytes, "A", 1);
	assert_null(request_tracker_next_ended(tracker));
	expect_ended("B 1 1 C 1 1 ");
}

TRACKED(tracker_does_not_end_request_early_in_short_windows)
{
	int64_t ms = 50;

	end_window(ms);
	add("a", "A", 1, 1, 2);
	for (ms = 100; ms < 3050; ms += 50) {
		end_window(ms);
		expect_ended("");
	}
	end_window(3050);
	expect_ended("A 1 1 ");
}

TRACKED(tracker_ends_request_after_one_idle_long_window)
{
	end_window(10000);
	add("a", "A", 1, 1, 2);
	end_window(20000);
	expect_ended("");
	end_window(30000);
	expect_ended("A 1 1 ");
}

TRACKED(tracker_continues_after_clock_is_set_back)
{
	end_window(100000);
	add("a", "A", 1, 1, 2);
	end_window(1000);
	end_window(3000);
	expect_ended("");
	end_window(4000);
	expect_ended("A 1 1 ");
}

TRACKED(tracker_uses_given_start_of_window_after_gap)
{
	end_window(1000);
	last_ms = 10000;
	add("a", "A", 1, 1, 2);
	end_window(11000);
	end_window(12000);
	expect_ended("");
	add("a", "A", 2, 3, 5);
	end_window(13000);
	end_window(14000);
	expect_ended("");
	end_window(15000);
	expect_ended("A 3 4 ");
}

TRACKED(tracker_ignores_charge_without_request)
{
	add("", "A", 1, 1, 2);
	request_tracker_finish(tracker);
	expect_ended("");
}

TRACKED(tracker_finish_ends_least_recently_active_first)
{
	add("a", "A", 1, 1, 2);
	add("b", "B", 1, 1, 2);
	add("a", "A", 1, 1, 2);
	expect_ended("");
	request_tracker_finish(tracker);
	expect_ended("B 1 1 A 2 1 ");
}

TRACKED(tracker_at_capacity_ends_least_recently_active)
{
	request_tracker_free(tracker);
	tracker = request_tracker_new(2);
	add("a", "A", 1, 1, 2);
	add("b", "B", 2, 1, 2);
	add("a", "A", 1, 1, 2);
	expect_ended("");
	add("c", "C", 3, 1, 2);
	expect_ended("B 2 1 ");
	add("d", "D", 4, 1, 2);
	expect_ended("A 2 1 ");
}

TRACKED(tracker_keeps_last_value_and_truncates_long_values)
{
	static char longer[2 * REQUEST_VALUE_BYTES_MAX];
	const struct ended_request *request;

	memset(longer, 'x', sizeof(longer) - 1);
	add("a", "first", 1, 1, 2);
	add("a", "other", 1, 1, 2);
	add("b", "short", 1, 1, 2);
	add("b", "shorts", 1, 1, 2);
	add("b", "shorts", 1, 1, 2);
	add("c", longer, 1, 1, 2);
	request_tracker_finish(tracker);
	request = request_tracker_next_ended(tracker);
	assert_int_equal(request->value.size_bytes, 5);
	assert_memory_equal(request->value.bytes, "other", 5);
	request = request_tracker_next_ended(tracker);
	assert_int_equal(request->value.size_bytes, 6);
	assert_memory_equal(request->value.bytes, "shorts", 6);
	request = request_tracker_next_ended(tracker);
	assert_int_equal(request->value.size_bytes, REQUEST_VALUE_BYTES_MAX);
	assert_null(request_tracker_next_ended(tracker));
}

TRACKED(tracker_fails_with_enomem_and_keeps_working)
{
	size_t failures = 0;

	assert_each_allocation_can_fail(try_add("a", "A", 1, 1, 2), failures++);
	assert_true(failures > 2);
	memory_fails_after(0);
	assert_null(request_tracker_new(1));
	assert_int_equal(try_add("a", "other", 1, 1, 2), -ENOMEM);
	memory_never_fails();
	request_tracker_finish(tracker);
	assert_non_null(request_tracker_next_ended(tracker));
	assert_null(request_tracker_next_ended(tracker));
	request_tracker_free(NULL);
}
