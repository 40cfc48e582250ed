/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/top/in_flight.h"
#include "reader/top/streams.h"

static struct history history;
static struct in_flight in_flight;

static int setup(void **state)
{
	(void)state;
	return history_init(&history);
}

static int teardown(void **state)
{
	(void)state;
	memory_never_fails();
	in_flight_deinit(&in_flight);
	history_deinit(&history);
	return 0;
}

static uint64_t tag(const char *id)
{
	return history_tag(&history, (struct record_text){ id, strlen(id) });
}

static void put(const char *id, int64_t tid, int64_t last_ns, const int64_t spent_ns[4])
{
	stream_cpu(&history, (struct stream_cpu){ .window = 1,
						  .tid = tid,
						  .request_id = id,
						  .cpu_ns = spent_ns[0],
						  .run_queue_ns = spent_ns[1],
						  .blocked_ns = spent_ns[2],
						  .uninterruptible_ns = spent_ns[3],
						  .first_ns = last_ns + 1000,
						  .last_ns = last_ns });
}

static const int64_t ran[4] = { 5, 0, 0, 0 };

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(in_flight_lists_requests_active_at_window_end)
{
	put("gone", 1, IN_FLIGHT_FLUSH_NS + 1, ran);
	put("there", 2, IN_FLIGHT_FLUSH_NS, ran);
	put("", 3, 0, ran);
	put("too", 4, 0, ran);
	assert_int_equal(in_flight_init(&in_flight, &history, 0), 0);
	assert_int_equal(in_flight.count, 2);
	assert_null(in_flight_find(&in_flight, tag("gone")));
	assert_null(in_flight_find(&in_flight, tag("never")));
	assert_null(in_flight_find(&in_flight, 0));
	assert_null(in_flight_find(&in_flight, UINT64_MAX));
	assert_int_equal(in_flight_find(&in_flight, tag("there"))->tid, 2);
	assert_string_equal(in_flight_find(&in_flight, tag("there"))->thread_name, "worker");
	assert_int_equal(in_flight_find(&in_flight, tag("too"))->tid, 4);
}

FIXTURE_TEST(in_flight_ignores_other_windows)
{
	put("first", 1, 0, ran);
	stream_cpu(&history, (struct stream_cpu){ .window = 2, .tid = 2, .request_id = "second" });
	assert_int_equal(in_flight_init(&in_flight, &history, 1), 0);
	assert_int_equal(in_flight.count, 1);
	assert_non_null(in_flight_find(&in_flight, tag("second")));
}

FIXTURE_TEST(in_flight_reports_most_recent_thread_of_request)
{
	put("r", 1, 500, ran);
	put("r", 2, 100, ran);
	put("r", 3, 300, ran);
	assert_int_equal(in_flight_init(&in_flight, &history, 0), 0);
	assert_int_equal(in_flight.count, 1);
	assert_int_equal(in_flight_find(&in_flight, tag("r"))->tid, 2);
}

FIXTURE_TEST(in_flight_state_is_longest_scheduler_state)
{
	static const struct {
		int64_t spent_ns[4]; /* CPU, run queue, blocked, of it uninterruptible */
		const char *name;
	} states[] = {
		{ { 3, 2, 2, 0 }, "running" }, { { 2, 3, 2, 0 }, "run queue" },
		{ { 2, 2, 3, 0 }, "blocked" }, { { 1, 1, 3, 2 }, "uninterruptible" },
		{ { 2, 2, 4, 2 }, "running" }, { { 0, 2, 4, 1 }, "blocked" },
		{ { 0, 0, 5, 2 }, "blocked" }, { { 0, 0, 5, 5 }, "uninterruptible" },
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		char id[8];

		(void)snprintf(id, sizeof(id), "r%zu", i);
		put(id, 1, 0, states[i].spent_ns);
	}
	assert_int_equal(in_flight_init(&in_flight, &history, 0), 0);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		const struct in_flight_request *request;
		char id[8];

		(void)snprintf(id, sizeof(id), "r%zu", i);
		request = in_flight_find(&in_flight, tag(id));
		assert_non_null(request);
		assert_string_equal(sched_state_title(request->state), states[i].name);
	}
}

FIXTURE_TEST(in_flight_skips_record_without_times)
{
	struct sample sample;

	sample_begin_cpu(&sample, 42, 7, "r", 1, 1);
	assert_int_equal(stream_put(&history, &sample, stream_end_ns(1)), 0);
	assert_int_equal(in_flight_init(&in_flight, &history, 0), 0);
	assert_int_equal(in_flight.count, 0);
}

FIXTURE_TEST(in_flight_finds_each_request_up_to_maximum)
{
	for (int64_t i = 0; i < IN_FLIGHT_MAX + 10; i++) {
		char id[16];

		(void)snprintf(id, sizeof(id), "r%d", (int)i);
		put(id, i + 1, 0, ran);
	}
	assert_int_equal(in_flight_init(&in_flight, &history, 0), 0);
	assert_int_equal(in_flight.count, IN_FLIGHT_MAX);
	for (int64_t i = 0; i < IN_FLIGHT_MAX; i++) {
		char id[16];

		(void)snprintf(id, sizeof(id), "r%d", (int)i);
		assert_int_equal(in_flight_find(&in_flight, tag(id))->tid, i + 1);
	}
}

FIXTURE_TEST(in_flight_truncates_long_thread_name)
{
	char name[GROUP_NAME_BYTES + 10];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	stream_cpu(&history,
		   (struct stream_cpu){ .window = 1, .request_id = "r", .thread_name = name });
	assert_int_equal(in_flight_init(&in_flight, &history, 0), 0);
	assert_int_equal(strlen(in_flight.requests[0].thread_name), GROUP_NAME_BYTES);
}

FIXTURE_TEST(in_flight_is_empty_when_allocation_fails)
{
	for (int i = 0; i < 20; i++) {
		char id[16];

		(void)snprintf(id, sizeof(id), "r%d", i);
		put(id, i + 1, 0, ran);
	}
	assert_each_allocation_can_fail(in_flight_init(&in_flight, &history, 0),
					assert_null(in_flight.requests));
	assert_int_equal(in_flight.count, 20);
}
