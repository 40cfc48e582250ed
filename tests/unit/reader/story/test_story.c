/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/story/sample_story.h"

struct fixture {
	struct totals totals;
	struct story story;
};

static const char *const by = "endpoint";

static const struct sample_place own = {
	.pid = 7, .tid = 11, .thread_name = "puma 1", .request_id = "r-1", .endpoint = "GET /a"
};
static const struct sample_place other = {
	.pid = 7, .tid = 12, .thread_name = "puma 2", .request_id = "r-2", .endpoint = "GET /b"
};

static int setup(void **state)
{
	static struct fixture fixture;

	*state = &fixture;
	if (totals_init(&fixture.totals, &by, 1) < 0)
		return -1;
	assert_int_equal(story_init(&fixture.story, &fixture.totals, "r-1"), 0);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	story_deinit(&fixture->story);
	totals_deinit(&fixture->totals);
	return 0;
}

static struct story *finish(struct fixture *fixture)
{
	assert_int_equal(totals_finish(&fixture->totals), 0);
	assert_int_equal(story_finish(&fixture->story), 0);
	return &fixture->story;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(story_sums_its_records_over_threads)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;
	struct sample_place second = own;

	second.tid = 13;
	second.thread_name = NULL;
	assert_false(story_is_there(story));
	sample_add_window(story, &own, 200, 700, 100);
	sample_add_window(story, &second, 100, 900, 20);
	sample_add_window(story, &other, 0, 1000, 5000);
	finish(fixture);
	assert_true(story_is_there(story));
	assert_false(story_has_slices(story));
	assert_int_equal(story->costs.sums[COST_CPU], 120);
	assert_int_equal(story->costs.sums[COST_RUN_QUEUE], 6);
	assert_int_equal(story->costs.record_count, 2);
	assert_int_equal(story->first_ns, SAMPLE_NS + 100);
	assert_int_equal(story->last_ns, SAMPLE_NS + 900);
	assert_int_equal(story->window_count, 2);
	/* By when they began. */
	assert_int_equal(story->windows[0].thread->key.tid, 13);
	assert_int_equal(story->windows[0].window_ns, 1000000000);
	assert_int_equal(story->windows[0].wall_ns, 1700000001000000000);
	assert_int_equal(story->windows[1].thread->key.tid, 11);
	assert_int_equal(story->windows[1].costs.sums[COST_CPU], 100);
	assert_int_equal(story->windows[1].thread->costs.sums[COST_CPU], 100);
	assert_string_equal(story->windows[1].thread->name, "puma 1");
	assert_string_equal(story->windows[0].thread->name, "");
	assert_string_equal(story_value(story, "endpoint"), "GET /a");
	assert_null(story_value(story, "request_id"));
	assert_null(story_value(story, "tenant"));
	assert_false(story->is_inherited);
	assert_false(story->keys[0].has_several);
	assert_int_equal(story->totals->observed.sums[COST_CPU], 5120);
}

FIXTURE_TEST(story_derives_missing_window_start_from_its_length)
{
	static const int64_t tids[] = { 11, 13, 12 };
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;
	struct sample_place place = own;

	place.tid = 12;
	sample_add_window(story, &place, 1, 700, 100);
	place.tid = 13;
	sample_give_at(story, "cpu", &place, "window_ns=1000000000 cpu_ns=5");
	sample_add_window(story, &own, -1, 700, 100);
	finish(fixture);
	assert_int_equal(story->window_count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(story->windows[i].thread->key.tid, tids[i]);
}

FIXTURE_TEST(story_ignores_overflow_and_unknown_records)
{
	struct fixture *fixture = *state;
	struct sample sample;

	sample_begin_window(&sample, &own, 0, 1, 1);
	sample_fields(&sample, "flags=[overflow]");
	assert_int_equal(sample_give(&sample, &fixture->story), 0);
	sample_begin_window(&sample, &own, 0, 1, 1);
	sample_fields(&sample, "flags=[unknown]");
	assert_int_equal(sample_give(&sample, &fixture->story), 0);
	finish(fixture);
	assert_false(story_is_there(&fixture->story));
	assert_int_equal(fixture->story.costs.record_count, 0);
}

FIXTURE_TEST(story_is_inherited_if_any_record_is_inherited)
{
	struct fixture *fixture = *state;
	struct sample sample;

	sample_begin_window(&sample, &own, 0, 1, 1);
	sample_fields(&sample, "flags=[inherited]");
	assert_int_equal(sample_give(&sample, &fixture->story), 0);
	sample_add_window(&fixture->story, &own, 1, 2, 1);
	assert_true(finish(fixture)->is_inherited);
}

FIXTURE_TEST(story_accepts_one_byte_request_id)
{
	struct fixture *fixture = *state;
	struct sample_place place = own;

	place.request_id = fixture->story.request_id = "7";
	sample_add_window(&fixture->story, &place, 0, 10, 5);
	assert_int_equal(finish(fixture)->costs.sums[COST_CPU], 5);
}

FIXTURE_TEST(story_skips_records_excluded_by_time_filter)
{
	struct fixture *fixture = *state;

	sample_add_window(&fixture->story, &own, 0, 10, 5);
	fixture->totals.selection.filter.since =
		(struct filter_time){ .is_set = true, .ns = (uint64_t)SAMPLE_NS + 5000000000 };
	sample_add_window(&fixture->story, &own, 0, 10, 5);
	assert_int_equal(finish(fixture)->costs.sums[COST_CPU], 5);
}

FIXTURE_TEST(story_key_shows_last_value_and_notes_change)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;
	struct sample_place later = own;

	/* As short as one can be. */
	later.endpoint = "a";
	sample_add_window(story, &later, 0, 1, 1);
	later.endpoint = "";
	sample_add_window(story, &later, 1, 2, 1);
	assert_string_equal(story_value(story, "endpoint"), "a");
	assert_false(story->keys[0].has_several);
	later.endpoint = "GET /c";
	sample_add_window(story, &later, 2, 3, 1);
	assert_string_equal(story_value(finish(fixture), "endpoint"), "GET /c");
	assert_true(story->keys[0].has_several);
	assert_int_equal(story->key_count, 1);
}

FIXTURE_TEST(story_limits_number_of_keys)
{
	struct fixture *fixture = *state;
	struct sample sample;
	char names[STORY_KEYS_MAX][16];

	sample_begin_window(&sample, &own, 0, 1, 1);
	for (int i = 0; i < STORY_KEYS_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "key%d", i);
		sample_fields(&sample, "%s=x", names[i]);
	}
	assert_int_equal(sample_give(&sample, &fixture->story), 0);
	assert_int_equal(finish(fixture)->key_count, STORY_KEYS_MAX);
	assert_string_equal(story_value(&fixture->story, names[STORY_KEYS_MAX - 2]), "x");
	assert_null(story_value(&fixture->story, names[STORY_KEYS_MAX - 1]));
}

FIXTURE_TEST(story_sorts_slices_by_time)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;

	sample_add_slice(story, &own, "running", 50, 80, 1, 12);
	sample_add_slice(story, &own, "run_queue", 30, 50, 0, 0);
	sample_add_slice(story, &own, "blocked", 10, 25, 0, 0);
	sample_add_slice(story, &own, "uninterruptible", 25, 30, 0, 0);
	sample_add_slice(story, &own, "running", 0, 10, 3, 0);
	sample_add_window(story, &own, 0, 80, 40);
	finish(fixture);
	assert_true(story_has_slices(story));
	assert_int_equal(story->slice_count, 5);
	assert_int_equal(story->slices[0].view.cpu_number, 3);
	assert_int_equal(story->slices[0].view.cpu_ns, 10);
	assert_int_equal(story->slices[0].view.start_ns, SAMPLE_NS);
	assert_int_equal(story->slices[0].view.end_ns, SAMPLE_NS + 10);
	assert_int_equal(story->slices[0].view.woken_by_tid, 0);
	assert_int_equal(story->slices[1].view.state, SCHED_BLOCKED);
	assert_int_equal(story->slices[1].view.cpu_number, -1);
	assert_int_equal(story->slices[2].view.state, SCHED_UNINTERRUPTIBLE);
	assert_int_equal(story->slices[3].view.state, SCHED_RUN_QUEUE);
	assert_int_equal(story->slices[4].view.woken_by_pid, 7);
	assert_int_equal(story->slices[4].view.woken_by_tid, 12);
	assert_int_equal(story->slices[0].thread->slice_count, 5);
	assert_int_equal(story->slices[0].thread->state_ns[SCHED_RUNNING], 40);
	assert_int_equal(story->slices[0].thread->state_ns[SCHED_BLOCKED], 15);
	assert_int_equal(story->slices_left_out, 0);
	assert_int_equal(story->first_ns, SAMPLE_NS);
	assert_int_equal(story->last_ns, SAMPLE_NS + 80);
}

FIXTURE_TEST(story_drops_and_counts_invalid_slices)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;

	sample_add_window(story, &own, 0, 80, 40);
	sample_add_slice(story, &own, "dreaming", 0, 1, 0, 0);
	sample_add_slice(story, &own, "blocked", 2, 1, 0, 0);
	sample_give_at(story, "slice", &own, "state=blocked start_ns=1");
	sample_give_at(story, "slice", &own, "start_ns=1 end_ns=1");
	sample_add_slice(story, &own, "blocked", 1, 1, 0, 0);
	assert_int_equal(finish(fixture)->slices_left_out, 4);
	assert_int_equal(story->slice_count, 1);
}

FIXTURE_TEST(story_adds_record_without_thread_to_sums_only)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;

	sample_give_record(story, "cpu pid=7 request_id=r-1 cpu_ns=5");
	assert_int_equal(finish(fixture)->windows_left_out, 1);
	assert_int_equal(story->window_count, 0);
	assert_int_equal(story->costs.sums[COST_CPU], 5);
	assert_int_equal(story->last_ns, 0);
}

FIXTURE_TEST(story_neighbours_exclude_incomplete_records)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;

	sample_add_window(story, &own, 0, 100, 40);
	sample_give_record(story, "cpu pid=7 request_id=r-2 cpu_ns=5 first_ns=%ld last_ns=%ld",
			   SAMPLE_NS, SAMPLE_NS + 100);
	sample_give_at(story, "cpu", &other, "cpu_ns=5");
	sample_give_at(story, "cpu", &other, "first_ns=%ld last_ns=%ld", SAMPLE_NS,
		       SAMPLE_NS + 100);
	assert_int_equal(finish(fixture)->beside.ranking_count, 0);
}

FIXTURE_TEST(story_counts_slices_without_start_or_end)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;

	sample_add_slice(story, &own, "blocked", 20, 30, 0, 0);
	sample_give_at(story, "slice", &own, "state=blocked end_ns=%ld", SAMPLE_NS + 40);
	sample_give_at(story, "slice", &own, "state=blocked start_ns=%ld", SAMPLE_NS + 40);
	finish(fixture);
	assert_int_equal(story->slice_count, 1);
	assert_int_equal(story->slices_left_out, 2);
}

FIXTURE_TEST(story_sorts_slices_with_equal_start_by_end)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;

	sample_add_slice(story, &own, "blocked", 10, 30, 0, 0);
	sample_add_slice(story, &own, "run_queue", 10, 20, 0, 0);
	sample_add_slice(story, &own, "running", 10, 10, 0, 0);
	finish(fixture);
	for (int i = 0; i < 3; i++)
		assert_int_equal(story->slices[i].view.end_ns, SAMPLE_NS + 10 * (i + 1));
}

FIXTURE_TEST(story_span_includes_record_without_thread)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;

	sample_give_record(story, "cpu pid=7 request_id=r-1 cpu_ns=5 first_ns=%ld last_ns=%ld",
			   SAMPLE_NS + 3, SAMPLE_NS + 9);
	finish(fixture);
	assert_int_equal(story->first_ns, SAMPLE_NS + 3);
	assert_int_equal(story->last_ns, SAMPLE_NS + 9);
	assert_int_equal(story->window_count, 0);
}

FIXTURE_TEST(story_wait_without_known_cpu_counts_no_time_ahead)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;

	/* Nothing comes after it, and then a block; on CPU 0 another one ran. */
	sample_add_slice(story, &own, "run_queue", 0, 50, 0, 0);
	sample_add_slice(story, &own, "blocked", 50, 60, 0, 0);
	sample_add_slice(story, &own, "run_queue", 60, 100, 0, 0);
	sample_add_slice(story, &other, "running", 0, 100, 0, 0);
	finish(fixture);
	assert_int_equal(story->beside.ranking_count, 1);
	assert_int_equal(story->beside.ranking[0]->ahead_ns, 0);
}

FIXTURE_TEST(story_fails_with_enomem_when_allocation_fails)
{
	static const char *const kinds[] = { "cpu", "slice", "other cpu", "finish", "stall" };
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;

	sample_add_window(story, &own, 0, 100, 40);
	sample_add_slice(story, &own, "running", 0, 100, 0, 0);
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
		int r = -ENOMEM;

		for (size_t given = 0; r < 0; given++) {
			static struct record_view view;
			struct sample sample;

			(void)teardown(state);
			assert_int_equal(setup(state), 0);
			if (kind == 1)
				sample_begin_slice(&sample, &own, "running", 0, 100);
			else if (kind == 4)
				sample_begin_stall(&sample, &own, 0, 100);
			else
				sample_begin_window(&sample, kind == 2 ? &other : &own, 0, 100, 40);
			sample_decode(&sample, &view);
			assert_true(kind != 3 || story_add(story, &view) == 0);
			memory_fails_after(given);
			r = kind == 3 ? story_finish(story) : story_add(story, &view);
			memory_never_fails();
			assert_int_equal(r, memory_failures() ? -ENOMEM : 0);
			msgpack_sbuffer_destroy(&sample.buffer);
		}
	}
}

FIXTURE_TEST(story_takes_lost_slices_from_balance)
{
	struct fixture *fixture = *state;

	sample_give_record(&fixture->story, "balance pid=7 exec_ns=0 attributed_ns=0 "
					    "unattributed_ns=0 overflow_ns=0 residual_ns=0 "
					    "slices_lost=9");
	assert_int_equal(story_slices_lost(&fixture->story), 9);
}

FIXTURE_TEST(story_filter_selects_whole_request)
{
	struct fixture *fixture = *state;
	struct sample_place early = own;

	assert_int_equal(filter_add(&fixture->totals.selection.filter, "endpoint=GET /a"), 0);
	early.endpoint = NULL;
	sample_add_window(&fixture->story, &early, 0, 1, 3);
	assert_false(story_is_there(&fixture->story));
	sample_add_window(&fixture->story, &own, 1, 2, 4);
	sample_add_window(&fixture->story, &early, 2, 3, 5);
	assert_true(story_is_there(finish(fixture)));
	assert_int_equal(fixture->story.costs.sums[COST_CPU], 12);
	assert_int_equal(fixture->totals.all.sums[COST_CPU], 12);
}

FIXTURE_TEST(story_filter_excludes_other_hosts)
{
	struct fixture *fixture = *state;
	struct sample_place elsewhere = own;

	assert_int_equal(filter_add(&fixture->totals.selection.filter, "host_name=web-1"), 0);
	elsewhere.host = "web-2";
	sample_add_window(&fixture->story, &elsewhere, 0, 1, 3);
	assert_false(story_is_there(&fixture->story));
	assert_true(fixture->story.is_left_out);
	sample_add_window(&fixture->story, &own, 1, 2, 4);
	sample_add_window(&fixture->story, &elsewhere, 0, 1, 3);
	assert_true(story_is_there(finish(fixture)));
	assert_int_equal(fixture->story.costs.sums[COST_CPU], 4);
}

FIXTURE_TEST(story_filter_rejects_record_without_value_after_mismatch)
{
	struct fixture *fixture = *state;
	struct sample_place early = own;

	assert_int_equal(filter_add(&fixture->totals.selection.filter, "endpoint=GET /x"), 0);
	sample_add_window(&fixture->story, &own, 0, 1, 3);
	early.endpoint = NULL;
	sample_add_window(&fixture->story, &early, 1, 2, 4);
	assert_false(story_is_there(finish(fixture)));
	assert_int_equal(fixture->story.costs.record_count, 0);
}

FIXTURE_TEST(story_endpoint_group_covers_all_its_requests)
{
	struct fixture *fixture = *state;
	struct sample_place same = other;
	const struct group *group;

	same.endpoint = "GET /a";
	sample_add_window(&fixture->story, &own, 0, 1, 3);
	sample_add_window(&fixture->story, &same, 0, 1, 1);
	group = story_endpoint(finish(fixture));
	assert_non_null(group);
	assert_int_equal(group->request_count, 2);
	assert_int_equal(histogram_count_below(&group->requests->costs[REQUEST_CPU], 3), 1);
}

FIXTURE_TEST(story_endpoint_is_null_without_endpoint_key)
{
	struct fixture *fixture = *state;
	struct sample_place bare = own;

	bare.endpoint = NULL;
	sample_add_window(&fixture->story, &bare, 0, 1, 3);
	sample_add_window(&fixture->story, &other, 0, 1, 3);
	assert_null(story_endpoint(finish(fixture)));
}

FIXTURE_TEST(story_hints_list_similar_request_ids)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;
	struct sample_place place = other;
	static const char *const ids[] = { "x",		 "order",    "order-11",      "none",
					   "order-12-a", "order-11", "shop-order-12", "ord" };

	story->request_id = "order-12";
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		place.request_id = ids[i];
		sample_add_window(story, &place, 0, 1, 3);
	}
	finish(fixture);
	assert_string_equal(story->hints[0].request_id, "order-12-a");
	assert_string_equal(story->hints[1].request_id, "order");
	assert_string_equal(story->hints[2].request_id, "shop-order-12");
}

FIXTURE_TEST(story_hints_need_common_prefix_of_four_bytes)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;
	struct sample_place place = other;

	story->request_id = "order-12";
	place.request_id = "ord";
	sample_add_window(story, &place, 0, 1, 3);
	place.request_id = "orange";
	sample_add_window(story, &place, 0, 1, 3);
	assert_int_equal(story->hints[0].likeness, 0);
	place.request_id = "orde ";
	sample_add_window(story, &place, 0, 1, 3);
	assert_int_equal(story->hints[0].likeness, 4);
	finish(fixture);
}

/* The byte behind it in the record: the mark of a name of eight bytes. */
FIXTURE_TEST(story_hints_compare_within_request_id_length)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;
	struct sample_place place = other;

	story->request_id = "order-12\xa8";
	place.request_id = "order-12";
	place.endpoint = "GET /";
	sample_add_window(story, &place, 0, 1, 3);
	assert_int_equal(story->hints[0].likeness, 1000 + sizeof("order-12") - 1);
	finish(fixture);
}

FIXTURE_TEST(story_neighbours_come_from_windows_without_slices)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;
	struct sample_place third = other;

	sample_add_window(story, &other, 0, 1000, 70);
	third.request_id = "";
	third.tid = 14;
	sample_add_window(story, &own, 100, 500, 40);
	sample_add_window(story, &third, 200, 300, 50);
	third.tid = 15;
	sample_add_window(story, &third, 500, 600, 50);
	finish(fixture);
	assert_int_equal(story->beside.ranking_count, 2);
	assert_string_equal(story->beside.ranking[0]->request_id, "r-2");
	assert_string_equal(story->beside.ranking[0]->endpoint, "GET /b");
	assert_int_equal(story->beside.ranking[0]->cpu_ns, 70);
	assert_true(story->beside.ranking[0]->is_at_most);
	assert_int_equal(story->beside.ranking[1]->cpu_ns, 50);
	assert_int_equal(story->beside.ranking[1]->thread->key.tid, 14);
	assert_false(story->beside.ranking[1]->is_at_most);
	assert_string_equal(story->beside.ranking[1]->request_id, "");
	assert_false(story_beside_is_incomplete(story));
}

FIXTURE_TEST(story_neighbours_come_from_slices_if_present)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;

	sample_add_window(story, &own, 100, 500, 40);
	sample_add_window(story, &other, 0, 1000, 70);
	sample_add_slice(story, &other, "running", 90, 130, 0, 0);
	sample_add_slice(story, &other, "blocked", 130, 200, 0, 0);
	sample_add_slice(story, &own, "run_queue", 120, 140, 0, 0);
	sample_add_slice(story, &own, "running", 140, 150, 0, 0);
	sample_add_slice(story, &other, "running", 480, 600, 1, 0);
	finish(fixture);
	assert_int_equal(story->beside.ranking_count, 1);
	assert_int_equal(story->beside.ranking[0]->cpu_ns, 30 + 20);
	assert_false(story->beside.ranking[0]->is_at_most);
	assert_int_equal(story->beside.ranking[0]->ahead_ns, 10);
}

FIXTURE_TEST(story_wait_targets_next_cpu_of_same_thread)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;
	struct sample_place second = own;

	second.tid = 13;
	sample_add_window(story, &own, 0, 100, 40);
	sample_add_slice(story, &own, "run_queue", 10, 20, 0, 0);
	sample_add_slice(story, &second, "running", 11, 19, 4, 0);
	sample_add_slice(story, &own, "running", 20, 30, 5, 0);
	sample_add_slice(story, &second, "run_queue", 50, 60, 0, 0);
	sample_add_slice(story, &second, "blocked", 60, 70, 0, 0);
	sample_add_slice(story, &other, "running", 0, 15, 4, 0);
	sample_add_slice(story, &other, "running", 15, 18, 5, 0);
	sample_add_slice(story, &other, "running", 50, 60, 5, 0);
	finish(fixture);
	assert_int_equal(story->beside.ranking[0]->cpu_ns, 28);
	assert_int_equal(story->beside.ranking[0]->ahead_ns, 3);
}

FIXTURE_TEST(story_joins_wait_split_by_window)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;

	sample_add_window(story, &own, 0, 100, 40);
	sample_add_slice(story, &own, "run_queue", 10, 20, 0, 0);
	sample_add_slice(story, &own, "run_queue", 20, 30, 0, 0);
	sample_add_slice(story, &own, "running", 30, 40, 5, 0);
	sample_add_slice(story, &own, "run_queue", 50, 60, 0, 0);
	sample_add_slice(story, &own, "blocked", 60, 70, 0, 0);
	sample_add_slice(story, &other, "running", 12, 29, 5, 0);
	sample_add_slice(story, &other, "running", 50, 60, 5, 0);
	finish(fixture);
	assert_int_equal(story->beside.ranking[0]->ahead_ns, 17);
}

FIXTURE_TEST(story_neighbours_exclude_other_hosts)
{
	struct fixture *fixture = *state;
	struct sample_place elsewhere = other;

	elsewhere.host = "web-2";
	sample_add_window(&fixture->story, &own, 0, 100, 40);
	sample_add_window(&fixture->story, &elsewhere, 0, 100, 40);
	assert_int_equal(finish(fixture)->beside.ranking_count, 0);
}

FIXTURE_TEST(story_comm_is_last_name_of_process)
{
	struct fixture *fixture = *state;
	char comm[STORY_VALUE_BYTES];

	sample_add_window(&fixture->story, &own, 0, 1, 3);
	finish(fixture);
	story_comm(&fixture->story, fixture->story.windows[0].thread, comm);
	assert_string_equal(comm, "");
	sample_give_record(&fixture->story, "process pid=8 comm=other");
	sample_give_record(&fixture->story, "process pid=7 comm=puma");
	story_comm(&fixture->story, fixture->story.windows[0].thread, comm);
	assert_string_equal(comm, "puma");
	sample_give_record(&fixture->story, "process host_name=web-2 pid=7 comm=elsewhere");
	story_comm(&fixture->story, fixture->story.windows[0].thread, comm);
	assert_string_equal(comm, "puma");
}

FIXTURE_TEST(story_limits_slices_and_windows_and_counts_excess)
{
	struct fixture *fixture = *state;
	struct story *story = &fixture->story;

	for (int i = 0; i < STORY_WINDOWS_MAX + 2; i++)
		sample_add_window(story, &own, i, i + 1, 1);
	assert_int_equal(story->window_count, STORY_WINDOWS_MAX);
	assert_int_equal(story->windows_left_out, 2);
	assert_int_equal(story->costs.sums[COST_CPU], STORY_WINDOWS_MAX + 2);
	for (int i = 0; i < STORY_SLICES_MAX + 3; i++)
		sample_add_slice(story, &own, "blocked", i, i + 1, 0, 0);
	assert_int_equal(finish(fixture)->slice_count, STORY_SLICES_MAX);
	assert_int_equal(story->slices_left_out, 3);
	assert_int_equal(story->last_ns, SAMPLE_NS + STORY_SLICES_MAX);
}
