/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/story/story_beside.h"

static struct story_host host;
static struct story_thread one = { .key = { 0, 7, 11 }, .host = &host };
static struct story_thread two = { .key = { 0, 7, 12 }, .host = &host };
static const struct record_text nothing = { "", 0 };

static int setup(void **state)
{
	static struct beside beside;

	*state = &beside;
	beside_init(&beside);
	host = (struct story_host){ .name = "web-1" };
	return 0;
}

static int teardown(void **state)
{
	beside_deinit(*state);
	return 0;
}

static struct record_text text(const char *bytes)
{
	return (struct record_text){ bytes, strlen(bytes) };
}

static void ran(struct beside *beside, const struct story_thread *thread, const char *id,
		int64_t start_ns, int64_t end_ns)
{
	struct beside_span span = { NULL, start_ns, end_ns, end_ns - start_ns, 2, true };

	assert_int_equal(beside_add(beside, thread, text(id), nothing, span), 0);
}

static int64_t cpu_of_first(const struct beside *beside)
{
	return beside->ranking_count > 0 ? beside->ranking[0]->cpu_ns : 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(beside_ranks_neighbours_by_cpu_in_span)
{
	struct beside *beside = *state;

	ran(beside, &one, "b", 100, 110);
	ran(beside, &two, "a", 110, 120);
	ran(beside, &two, "", 120, 150);
	ran(beside, &one, "b", 150, 160);
	ran(beside, &one, "a", 160, 170);
	story_host_extend(&host, 100, 170);
	assert_int_equal(beside_finish(beside, true, NULL, 0), 0);
	assert_int_equal(beside->ranking_count, 4);
	assert_int_equal(beside->ranking[0]->cpu_ns, 30);
	assert_string_equal(beside->ranking[0]->request_id, "");
	assert_int_equal(beside->ranking[1]->cpu_ns, 20);
	assert_ptr_equal(beside->ranking[1]->thread, &one);
	/* Equals by their ids, and then by their threads. */
	assert_string_equal(beside->ranking[2]->request_id, "a");
	assert_ptr_equal(beside->ranking[2]->thread, &one);
	assert_ptr_equal(beside->ranking[3]->thread, &two);
}

FIXTURE_TEST(beside_clips_neighbours_to_request_span)
{
	struct beside *beside = *state;

	ran(beside, &one, "before", 0, 100);
	ran(beside, &one, "begin", 90, 101);
	ran(beside, &one, "around", 0, 1000);
	ran(beside, &one, "end", 197, 300);
	ran(beside, &one, "after", 200, 300);
	story_host_extend(&host, 150, 200);
	story_host_extend(&host, 100, 180);
	assert_int_equal(beside_finish(beside, true, NULL, 0), 0);
	assert_int_equal(beside->ranking_count, 3);
	assert_string_equal(beside->ranking[0]->request_id, "around");
	assert_int_equal(beside->ranking[0]->cpu_ns, 100);
	assert_string_equal(beside->ranking[1]->request_id, "end");
	assert_int_equal(beside->ranking[1]->cpu_ns, 3);
	assert_int_equal(beside->ranking[2]->cpu_ns, 1);
}

FIXTURE_TEST(beside_is_empty_without_request_span)
{
	struct beside *beside = *state;

	ran(beside, &one, "a", 0, 100);
	assert_int_equal(beside_finish(beside, true, NULL, 0), 0);
	assert_int_equal(beside->ranking_count, 0);
	assert_false(beside_is_incomplete(beside, &host));
}

FIXTURE_TEST(beside_ignores_span_without_cpu_or_with_reversed_times)
{
	struct beside *beside = *state;
	struct beside_span span = { NULL, 0, 10, 0, 2, true };

	assert_int_equal(beside_add(beside, &one, nothing, nothing, span), 0);
	span = (struct beside_span){ NULL, 10, 9, 5, 2, true };
	assert_int_equal(beside_add(beside, &one, nothing, nothing, span), 0);
	assert_int_equal(beside->span_count, 0);
	assert_null(beside->neighbours);
}

FIXTURE_TEST(beside_bounds_cpu_of_window_crossing_request_span)
{
	struct beside *beside = *state;
	struct beside_span span = { NULL, 0, 100, 60, -1, false };

	assert_int_equal(beside_add(beside, &one, nothing, text("GET /"), span), 0);
	span = (struct beside_span){ NULL, 60, 90, 7, -1, false };
	assert_int_equal(beside_add(beside, &two, nothing, nothing, span), 0);
	story_host_extend(&host, 50, 200);
	assert_int_equal(beside_finish(beside, false, NULL, 0), 0);
	assert_int_equal(beside->ranking[0]->cpu_ns, 50);
	assert_true(beside->ranking[0]->is_at_most);
	assert_string_equal(beside->ranking[0]->endpoint, "GET /");
	assert_int_equal(beside->ranking[1]->cpu_ns, 7);
	assert_false(beside->ranking[1]->is_at_most);
	assert_string_equal(beside->ranking[1]->endpoint, "");
}

FIXTURE_TEST(beside_groups_time_outside_requests_by_endpoint)
{
	struct beside *beside = *state;
	struct beside_span span = { NULL, 0, 100, 60, -1, false };

	assert_int_equal(beside_add(beside, &one, nothing, nothing, span), 0);
	span.cpu_ns = 1;
	assert_int_equal(beside_add(beside, &one, nothing, text("GET /health"), span), 0);
	span.cpu_ns = 20;
	assert_int_equal(beside_add(beside, &one, nothing, text("POST /import"), span), 0);
	/* An id is no endpoint. */
	span.cpu_ns = 5;
	assert_int_equal(beside_add(beside, &one, text("POST /import"), nothing, span), 0);
	story_host_extend(&host, 0, 100);
	assert_int_equal(beside_finish(beside, false, NULL, 0), 0);
	assert_int_equal(beside->ranking_count, 4);
	assert_int_equal(beside->ranking[0]->cpu_ns, 60);
	assert_string_equal(beside->ranking[0]->endpoint, "");
	assert_int_equal(beside->ranking[1]->cpu_ns, 20);
	assert_string_equal(beside->ranking[1]->endpoint, "POST /import");
	assert_string_equal(beside->ranking[2]->request_id, "POST /import");
	assert_string_equal(beside->ranking[3]->endpoint, "GET /health");
}

FIXTURE_TEST(beside_does_not_add_windows_to_slices)
{
	struct beside *beside = *state;
	struct beside_span span = { NULL, 0, 100, 60, -1, false };

	assert_int_equal(beside_add(beside, &one, nothing, nothing, span), 0);
	ran(beside, &one, "", 50, 60);
	story_host_extend(&host, 50, 200);
	assert_int_equal(beside_finish(beside, true, NULL, 0), 0);
	assert_int_equal(cpu_of_first(beside), 10);
	assert_false(beside->ranking[0]->is_at_most);
	assert_int_equal(beside->ranking_count, 1);
}

static struct beside_wait wait_for(int64_t cpu_number, int64_t start_ns, int64_t end_ns)
{
	return (struct beside_wait){ &host, cpu_number, start_ns, end_ns, -1 };
}

FIXTURE_TEST(beside_measures_time_ahead_on_awaited_cpu)
{
	struct beside *beside = *state;
	struct story_host elsewhere = { .name = "web-2" };
	/* In no order; two threads wait for CPU 2 at once. */
	struct beside_wait waits[] = {
		wait_for(2, 500, 600), wait_for(3, 0, 1000),  wait_for(2, 100, 200),
		wait_for(2, 150, 260), wait_for(2, 260, 300), { &elsewhere, 2, 0, 1000, -1 },
	};

	ran(beside, &one, "a", 0, 90); /* 0 */
	ran(beside, &one, "b", 90, 110); /* 10 */
	ran(beside, &one, "c", 110, 400); /* 190 */
	ran(beside, &one, "d", 120, 140); /* 20 */
	ran(beside, &one, "e", 300, 500); /* 0 */
	ran(beside, &one, "f", 599, 800); /* 1 */
	ran(beside, &one, "g", 0, 1000); /* 300 */
	story_host_extend(&host, 0, 1000);
	assert_int_equal(beside_finish(beside, true, waits, 6), 0);
	for (size_t i = 0; i < beside->ranking_count; i++) {
		static const int64_t ahead_ns[] = { 0, 10, 190, 20, 0, 1, 300 };
		const struct neighbour *neighbour = beside->ranking[i];

		assert_int_equal(neighbour->ahead_ns, ahead_ns[neighbour->request_id[0] - 'a']);
	}
	assert_int_equal(beside->ranking_count, 7);
}

FIXTURE_TEST(beside_counts_no_time_ahead_on_unknown_cpu)
{
	struct beside *beside = *state;
	struct beside_wait waits[] = { wait_for(-1, 0, 100), wait_for(0, 0, 100) };
	struct beside_span span = { NULL, 0, 100, 60, -1, true };

	assert_int_equal(beside_add(beside, &one, nothing, nothing, span), 0);
	span = (struct beside_span){ NULL, 0, 100, 50, 0, false };
	assert_int_equal(beside_add(beside, &two, nothing, nothing, span), 0);
	story_host_extend(&host, 0, 100);
	assert_int_equal(beside_finish(beside, true, waits, 2), 0);
	assert_int_equal(beside->ranking_count, 1);
	assert_int_equal(beside->ranking[0]->ahead_ns, 0);
}

static void fill(struct beside *beside, int64_t from_ns)
{
	for (int64_t i = 0; i < BESIDE_STRETCHES_MAX; i++)
		ran(beside, &two, "filler", from_ns + i, from_ns + i + 1);
}

FIXTURE_TEST(beside_evaluates_oldest_spans_when_ring_is_full)
{
	struct beside *beside = *state;

	story_host_extend(&host, 10, 20);
	ran(beside, &one, "in", 10, 20);
	ran(beside, &one, "out", 30, 31);
	fill(beside, 100);
	assert_int_equal(beside->span_count, BESIDE_STRETCHES_MAX);
	/* The one that was not beside it is forgotten. */
	assert_int_equal(HASH_COUNT(beside->neighbours), 2);
	assert_false(beside_is_incomplete(beside, &host));
	assert_int_equal(beside_finish(beside, true, NULL, 0), 0);
	assert_int_equal(beside->ranking_count, 1);
	assert_int_equal(cpu_of_first(beside), 10);
}

FIXTURE_TEST(beside_ring_keeps_newest_spans)
{
	struct beside *beside = *state;

	fill(beside, 0);
	ran(beside, &one, "a", 5, 6);
	ran(beside, &one, "b", 7, 9);
	story_host_extend(&host, 0, 100);
	assert_int_equal(beside_finish(beside, true, NULL, 0), 0);
	assert_int_equal(beside->ranking_count, 3);
	/* Two of a hundred were judged when nothing was known of the request. */
	assert_int_equal(beside->ranking[0]->cpu_ns, 98);
	assert_int_equal(beside->ranking[1]->cpu_ns, 2);
	assert_true(beside_is_incomplete(beside, &host));
}

FIXTURE_TEST(beside_is_incomplete_if_request_grows_over_dropped_spans)
{
	struct beside *beside = *state;

	story_host_extend(&host, 50, 60);
	ran(beside, &one, "a", 40, 45);
	ran(beside, &one, "b", 70, 75);
	fill(beside, 1000);
	assert_false(beside_is_incomplete(beside, &host));
	story_host_extend(&host, 45, 70);
	assert_false(beside_is_incomplete(beside, &host));
	host.first_ns = 44;
	assert_true(beside_is_incomplete(beside, &host));
	host.first_ns = 45;
	host.last_ns = 71;
	assert_true(beside_is_incomplete(beside, &host));
}

FIXTURE_TEST(beside_dropped_crossing_span_is_missing_only_outside)
{
	struct beside *beside = *state;

	story_host_extend(&host, 50, 60);
	ran(beside, &one, "a", 40, 75);
	fill(beside, 1000);
	assert_false(beside_is_incomplete(beside, &host));
	host.first_ns = 49;
	assert_true(beside_is_incomplete(beside, &host));
	host.first_ns = 50;
	host.last_ns = 61;
	assert_true(beside_is_incomplete(beside, &host));
}

FIXTURE_TEST(beside_limits_number_of_neighbours)
{
	struct beside *beside = *state;
	char id[16];

	for (int i = 0; i <= BESIDE_NEIGHBOURS_MAX; i++) {
		assert_false(beside->is_full);
		(void)snprintf(id, sizeof(id), "r%d", i);
		ran(beside, &one, id, i, i + 1);
	}
	assert_true(beside->is_full);
	ran(beside, &one, "r5", 0, 1);
	assert_int_equal(beside->span_count, BESIDE_NEIGHBOURS_MAX + 1);
}

FIXTURE_TEST(beside_fails_with_enomem_when_allocation_fails)
{
	struct beside *beside = *state;
	struct beside_span span = { NULL, 0, 10, 5, 2, true };
	int r;

	assert_each_allocation_can_fail(beside_add(beside, &one, nothing, nothing, span), (void)0);
	story_host_extend(&host, 0, 10);
	memory_fails_after(0);
	r = beside_finish(beside, true, NULL, 0);
	memory_fails_after(SIZE_MAX);
	assert_int_equal(r, -ENOMEM);
}
