/* SPDX-License-Identifier: GPL-2.0-only */
/* What a page keeps of records that are told by hand, and what it gives up. */
#include <errno.h>
#include <stdio.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/report/html/page_story.h"

static struct totals totals;
static struct page_data data;
static struct page_limits limits;

static int setup(void **state)
{
	static const char *const by[] = { "endpoint" };

	(void)state;
	limits = (struct page_limits){ .requests = 100,
				       .cells = 1000,
				       .slices = 1000,
				       .samples = 1000,
				       .times = 100,
				       .groups = 100,
				       .threads = 100 };
	return totals_init(&totals, by, 1) || page_data_init(&data, &totals, &limits);
}

static int teardown(void **state)
{
	(void)state;
	page_data_deinit(&data);
	totals_deinit(&totals);
	return 0;
}

static void finish(void)
{
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(page_data_finish(&data), 0);
}

static int64_t sum_of_cells(const struct page_request *request)
{
	int64_t sum = 0;

	for (size_t i = 0; i < request->cell_count; i++)
		sum += request->cells[i].costs.sums[COST_CPU];
	return sum;
}

/* Of all that is kept. */
static int64_t sum_of_all(void)
{
	int64_t sum = sum_of_cells(&data.nobody);

	for (const struct page_request *request = data.requests; request; request = request->next)
		sum += sum_of_cells(request);
	return sum;
}

static size_t count_cells(void)
{
	size_t count = data.nobody.cell_count;

	for (const struct page_request *request = data.requests; request; request = request->next)
		count += request->cell_count;
	return count;
}

static const struct page_request *expect_request(const char *id, size_t cell_count)
{
	const struct page_request *request = story_find(&data, id);

	if (!request)
		fail_msg("no request %s", id);
	assert_int_equal(request->cell_count, cell_count);
	return request;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(page_data_keeps_cell_per_window_and_thread)
{
	const struct page_request *request;

	story_cpu(&totals, (struct story_cpu){ 1000, 1, "a", NULL, 10, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1100, 1, "a", "GET /", 20, 1010, 1090 });
	story_cpu(&totals, (struct story_cpu){ 1100, 2, "a", "GET /", 30, 1020, 1030 });
	story_cpu(&totals, (struct story_cpu){ 1100, 1, "b", "GET /", 40, 1020, 1030 });
	finish();
	assert_int_equal(data.request_count, 2);
	request = expect_request("a", 3);
	assert_int_equal(request->costs.sums[COST_CPU], 60);
	assert_int_equal(request->cells[0].wall_ns, 1000);
	assert_int_equal(request->cells[0].group, PAGE_NO_NAME);
	assert_true(request->cells[0].costs.lacks_span);
	assert_int_equal(request->cells[1].group, 1);
	assert_int_equal(request->cells[1].costs.last_ns, 1090);
	assert_int_equal(request->cells[2].thread, 2);
	assert_int_equal(request->cells[2].part, TOTALS_PART_ATTRIBUTED);
	assert_false(request->is_open);
	assert_int_equal(data.groups.count, 1);
	assert_true(record_text_is(data.groups.texts[0], "GET /"));
	assert_true(record_text_is(data.threads.texts[1], "42/2 worker"));
	assert_int_equal(data.times.count, 2);
	assert_int_equal(data.origin_ns, 900);
	assert_int_equal(data.cell_count, 4);
	expect_request("b", 1);
	assert_int_equal(data.folded_requests, 0);
}

FIXTURE_TEST(page_data_keeps_time_without_request_under_nobody)
{
	struct sample sample;

	story_cpu(&totals, (struct story_cpu){ 1000, 1, "", "", 10, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "", "GET /", 20, 0, 0 });
	sample_begin_cpu(&sample, 42, 0, "", 5, 0);
	sample_fields(&sample, "endpoint=\"not read\" flags=[overflow]");
	assert_int_equal(story_tell(&totals, &sample, 1000), 0);
	/* Merged by window, part, group and thread, in this order. */
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "", "", 40, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1000, 2, "", "", 80, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 900, 1, "", "", 3, 0, 0 });
	finish();
	assert_int_equal(data.request_count, 0);
	assert_int_equal(data.nobody.cell_count, 5);
	assert_int_equal(data.cell_count, 5);
	assert_int_equal(data.nobody.cells[0].wall_ns, 900);
	assert_int_equal(data.nobody.cells[1].part, TOTALS_PART_ATTRIBUTED);
	assert_int_equal(data.nobody.cells[1].group, 1);
	assert_int_equal(data.nobody.cells[1].costs.sums[COST_CPU], 20);
	assert_int_equal(data.nobody.cells[2].part, TOTALS_PART_UNATTRIBUTED);
	assert_int_equal(data.nobody.cells[2].costs.sums[COST_CPU], 50);
	assert_int_equal(data.nobody.cells[2].group, PAGE_NO_NAME);
	assert_int_equal(data.nobody.cells[3].costs.sums[COST_CPU], 80);
	assert_int_equal(data.nobody.cells[4].part, TOTALS_PART_OVERFLOW);
	assert_int_equal(data.nobody.cells[4].group, PAGE_NO_NAME);
}

FIXTURE_TEST(page_data_omits_filtered_requests)
{
	assert_int_equal(filter_add(&totals.selection.filter, "endpoint=GET /"), 0);
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "a", NULL, 1, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1100, 1, "a", "GET /", 2, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "b", NULL, 4, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "c", "POST /", 8, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "", "", 16, 0, 0 });
	finish();
	assert_int_equal(data.request_count, 1);
	assert_int_equal(expect_request("a", 2)->costs.sums[COST_CPU], 3);
	assert_int_equal(data.nobody.cell_count, 0);
	assert_int_equal(data.cell_count, 2);
	/* The windows are those of all. */
	assert_int_equal(data.times.count, 2);
}

FIXTURE_TEST(page_data_counts_reappearing_request_as_new)
{
	char id[16];

	limits.requests = data.limits.requests = 1000000;
	data.limits.cells = 1000000;
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "again", "GET /", 1, 0, 0 });
	for (int i = 0; i < REQUESTS_OPEN_MAX; i++) {
		(void)snprintf(id, sizeof(id), "%d", i);
		story_cpu(&totals, (struct story_cpu){ 1000, 1, id, "GET /", 1, 0, 0 });
	}
	story_cpu(&totals, (struct story_cpu){ 1100, 1, "again", "GET /", 1, 0, 0 });
	finish();
	assert_int_equal(data.request_count, REQUESTS_OPEN_MAX + 2);
	assert_int_equal(totals.groupings[0].request_count, REQUESTS_OPEN_MAX + 2);
}

FIXTURE_TEST(page_data_attaches_slices_to_their_request)
{
	const struct page_request *request;

	story_slice(&totals, "a", "blocked", 950, 960, -1);
	story_slice(&totals, "a", "running", 900, 950, 3);
	story_slice(&totals, "a", "run_queue", 960, 960, -1);
	story_slice(&totals, "a", "uninterruptible", 970, 980, -1);
	/* Of nobody, backwards, in no state, of a request without a record. */
	story_slice(&totals, "", "running", 900, 950, 3);
	story_slice(&totals, NULL, "running", 900, 950, 3);
	story_slice(&totals, "a", "running", 950, 949, 3);
	story_slice(&totals, "a", "dreaming", 900, 950, 3);
	story_slice(&totals, "nobody", "running", 900, 950, 3);
	story_cpu(&totals, (struct story_cpu){ 1000, 7, "a", "GET /", 1, 0, 0 });
	finish();
	assert_int_equal(data.request_count, 1);
	assert_int_equal(data.slice_count, 4);
	request = expect_request("a", 1);
	assert_int_equal(request->slice_count, 4);
	assert_int_equal(request->slices[0].start_ns, 900);
	assert_int_equal(request->slices[0].cpu_plus_1, 4);
	assert_int_equal(request->slices[0].woken_by_tid, 0);
	assert_int_equal(request->slices[0].fiber, STORY_FIBER);
	assert_int_equal(request->slices[0].state, SCHED_RUNNING);
	assert_int_equal(request->slices[1].state, SCHED_BLOCKED);
	assert_int_equal(request->slices[1].end_ns, 960);
	assert_int_equal(request->slices[1].cpu_plus_1, 0);
	assert_int_equal(request->slices[1].woken_by_tid, 99);
	assert_int_equal(request->slices[1].fiber, 0);
	assert_int_equal(request->slices[1].thread, 1);
	assert_int_equal(request->slices[2].state, SCHED_RUN_QUEUE);
	assert_int_equal(request->slices[3].state, SCHED_UNINTERRUPTIBLE);
	assert_int_equal(data.dropped_slices, 0);
}

FIXTURE_TEST(page_data_keeps_most_expensive_requests)
{
	char id[16];

	data.limits.requests = 4;
	/* 0 to 9: the CPU grows, the wall time shrinks. */
	for (int i = 0; i < 10; i++) {
		(void)snprintf(id, sizeof(id), "%d", i);
		story_cpu(&totals,
			  (struct story_cpu){ 1000, 1, id, "GET /", 100 + i, 900, 990 - i });
	}
	story_slice(&totals, "4", "running", 900, 950, 3);
	finish();
	assert_int_equal(data.request_count, 4);
	for (const char *kept = "0189"; *kept; kept++) {
		id[0] = *kept;
		id[1] = '\0';
		assert_non_null(story_find(&data, id));
	}
	assert_int_equal(data.folded_requests, 6);
	assert_int_equal(data.dropped_slices, 1);
	assert_int_equal(data.slice_count, 0);
	/* The others are one, of their group. */
	assert_int_equal(data.nobody.cell_count, 1);
	assert_int_equal(data.nobody.cells[0].costs.sums[COST_CPU], 600 + 2 + 3 + 4 + 5 + 6 + 7);
	assert_int_equal(data.nobody.cells[0].group, 1);
	assert_int_equal(data.nobody.cells[0].thread, PAGE_NO_NAME);
	assert_int_equal(data.cell_count, 5);
}

FIXTURE_TEST(page_data_fills_missing_groups_of_folded_request)
{
	data.limits.requests = 2;
	/* Before its first group it is that one's, then the last one's. */
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "a", NULL, 1, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1100, 1, "a", "GET /", 2, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1200, 1, "a", NULL, 4, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1300, 1, "a", "POST /", 8, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1400, 1, "a", NULL, 16, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1400, 1, "b", NULL, 1000, 900, 910 });
	story_cpu(&totals, (struct story_cpu){ 1400, 1, "c", NULL, 1000, 900, 910 });
	finish();
	assert_null(story_find(&data, "a"));
	assert_int_equal(data.nobody.cell_count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(data.nobody.cells[i].group, i < 3 ? 1 : 2);
}

FIXTURE_TEST(page_data_reduces_detail_beyond_cell_limit)
{
	int64_t told = 0;
	char id[16];

	data.limits.cells = 200;
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(id, sizeof(id), "%d", i % 40);
		story_cpu(&totals,
			  (struct story_cpu){ 1000 + (uint64_t)i / 40 * 100, i % 3, i % 5 ? id : "",
					      i % 5 ? "GET /" : "", i, 0, 0 });
		told += i;
		assert_in_range(data.cell_count, 0, 200);
	}
	finish();
	assert_int_equal(sum_of_all(), told);
	assert_int_equal(count_cells(), data.cell_count);
	assert_false(data.has_threads);
	assert_in_range(data.times.count, 1, 64);
	assert_true(data.times.merged_count > 0);
}

FIXTURE_TEST(page_data_drops_threads_without_request_first)
{
	data.limits.cells = 8;
	for (int i = 0; i < 8; i++)
		story_cpu(&totals, (struct story_cpu){ 1000, i + 1, i < 2 ? "a" : "",
						       i < 2 ? "GET /" : "", 1, 0, 0 });
	assert_true(data.has_threads);
	assert_int_equal(data.cell_count, 8);
	story_cpu(&totals, (struct story_cpu){ 1000, 50, "", "", 1, 0, 0 });
	assert_false(data.has_threads);
	assert_true(data.has_request_threads);
	assert_int_equal(data.nobody.cell_count, 1);
	assert_int_equal(data.nobody.cells[0].costs.sums[COST_CPU], 7);
	/* And do not come back. */
	story_cpu(&totals, (struct story_cpu){ 1000, 51, "", "", 1, 0, 0 });
	assert_int_equal(data.nobody.cells[1].thread, PAGE_NO_NAME);
	assert_int_not_equal(expect_request("a", 2)->cells[0].thread, PAGE_NO_NAME);
}

FIXTURE_TEST(page_data_folds_requests_beyond_cell_limit)
{
	int64_t told = 0;
	char id[16];

	data.limits.cells = 8;
	for (int i = 0; i < 100; i++) {
		(void)snprintf(id, sizeof(id), "%d", i);
		story_cpu(&totals, (struct story_cpu){ 1000, 1, id, "GET /", i, 0, 0 });
		told += i;
	}
	finish();
	assert_in_range(data.cell_count, 1, 8);
	assert_int_equal(sum_of_all(), told);
	assert_int_equal(data.folded_requests + data.request_count, 100);
}

FIXTURE_TEST(page_data_folds_last_request_before_merging_windows)
{
	data.limits.cells = 6;
	for (uint64_t window = 0; window < 7; window++)
		story_cpu(&totals,
			  (struct story_cpu){ 1000 + 100 * window, 1, "a", "GET /", 1, 0, 0 });
	finish();
	assert_int_equal(data.request_count, 0);
	assert_int_equal(data.folded_requests, 1);
	assert_int_equal(sum_of_all(), 7);
}

FIXTURE_TEST(page_data_merges_windows_if_no_requests_remain)
{
	static const struct {
		size_t cells;
		size_t left;
	} cases[] = { { 4, 4 }, { 1, 2 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)teardown(NULL);
		assert_int_equal(setup(NULL), 0);
		data.limits.cells = cases[i].cells;
		for (uint64_t window = 0; window < 10; window++)
			story_cpu(&totals,
				  (struct story_cpu){ 1000 + 100 * window, 1, "", "", 1, 0, 0 });
		finish();
		/* Two windows there are always. */
		assert_in_range(data.nobody.cell_count, 1, cases[i].left);
		assert_in_range(data.times.count, 2, 10);
		assert_int_equal(sum_of_all(), 10);
	}
}

FIXTURE_TEST(page_data_bounds_total_slices)
{
	char id[16];

	data.limits.slices = 10;
	for (int i = 0; i < 4; i++) {
		(void)snprintf(id, sizeof(id), "%d", i);
		for (int j = 0; j < 4; j++) {
			story_slice(&totals, id, "running", 900 + j, 950, 3);
			assert_in_range(data.slice_count, 0, 10);
		}
		story_cpu(&totals, (struct story_cpu){ 1000, 1, id, "GET /", i, 900, 900 + i });
	}
	finish();
	assert_int_equal(data.request_count, 4);
	assert_int_equal(data.slice_count + data.dropped_slices, 16);
}

FIXTURE_TEST(page_data_drops_slices_of_cheaper_half_first)
{
	char id[16];

	data.limits.slices = 12;
	for (int i = 0; i < 7; i++) {
		(void)snprintf(id, sizeof(id), "%d", i);
		story_slice(&totals, id, "running", 900, 910, 3);
		if (i < 6)
			story_slice(&totals, id, "running", 910, 920, 3);
		assert_int_equal(data.dropped_slices, i < 6 ? 0 : 7);
	}
	/* What is left of three is just half of what there is room for. */
	assert_int_equal(data.slice_count, 6);
	assert_int_equal(data.request_count, 7);
	for (int i = 0; i < 3; i++) {
		(void)snprintf(id, sizeof(id), "%d", i);
		assert_int_equal(story_find(&data, id)->slice_count, 2);
	}
}

FIXTURE_TEST(page_data_bounds_slices_per_request)
{
	enum {
		ROOM = 20000
	};

	limits.slices = data.limits.slices = 2 * ROOM;
	for (int i = 0; i < ROOM + 2; i++)
		story_slice(&totals, "a", "running", 900, 910, 3);
	assert_int_equal(story_find(&data, "a")->slice_count, ROOM);
	assert_int_equal(data.dropped_slices, 2);
}

FIXTURE_TEST(page_data_attaches_samples_to_their_request)
{
	const struct page_request *request;

	story_sample(&totals, (struct story_sample){ 1000, "a", NULL, "s", 3, NULL });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "a", "GET /", 10, 900, 990 });
	story_sample(&totals, (struct story_sample){ 1100, "a", "GET /", "s", 4, NULL });
	story_sample(&totals, (struct story_sample){ 1100, "a", "GET /", "s", 0, NULL });
	/* What is known by its samples alone is no request. */
	story_sample(&totals, (struct story_sample){ 1000, "b", "GET /", "t", 5, NULL });
	finish();
	request = expect_request("a", 1);
	assert_null(story_find(&data, "b"));
	assert_int_equal(data.dropped_samples, 5);
	assert_int_equal(request->sample_count, 2);
	assert_int_equal(data.sample_count, 2);
	assert_int_equal(request->samples[0].wall_ns, 1000);
	assert_int_equal(request->samples[0].samples, 3);
	assert_int_equal(request->samples[0].stands_for_ns, 30);
	assert_int_equal(request->samples[0].group, PAGE_NO_NAME);
	assert_int_equal(request->samples[1].group, 1);
	assert_ptr_equal(request->samples[0].frame, request->samples[1].frame);
	assert_string_equal(request->samples[0].frame->name->bytes, "[unknown]");
}

FIXTURE_TEST(page_data_moves_samples_of_folded_request_to_group)
{
	char id[16];
	uint64_t samples = 0;

	data.limits.requests = 2;
	for (int i = 0; i < 4; i++) {
		(void)snprintf(id, sizeof(id), "%d", i);
		story_sample(&totals, (struct story_sample){ 1000, id, NULL, "s", 1, NULL });
		story_sample(&totals, (struct story_sample){ 1000, id, "GET /", "s", 1, NULL });
		story_cpu(&totals, (struct story_cpu){ 1000, 1, id, NULL, i, 900, 910 });
		story_cpu(&totals, (struct story_cpu){ 1000, 1, id, "GET /", i, 900, 910 });
	}
	finish();
	assert_int_equal(data.folded_requests, 2);
	assert_int_equal(data.sample_count, 8);
	assert_int_equal(data.nobody.sample_count, 4);
	for (size_t i = 0; i < data.nobody.sample_count; i++) {
		assert_int_equal(data.nobody.samples[i].group, 1);
		samples += data.nobody.samples[i].samples;
	}
	assert_int_equal(samples, 4);
}

FIXTURE_TEST(page_data_drops_samples_of_request_without_cells)
{
	char text[] = "endpoint=GET /";

	for (int is_filtered = 0; is_filtered < 2; is_filtered++) {
		data.limits.cells = 1000;
		if (is_filtered)
			assert_int_equal(filter_add(&totals.selection.filter, text), 0);
		story_sample(&totals, (struct story_sample){ 1000, "a", "GET /", "s", 3, NULL });
		data.limits.cells = 2;
		data.limits.times = 2;
		story_cpu(&totals, (struct story_cpu){ 1000, 1, "b", "GET /", 1, 900, 910 });
		story_cpu(&totals, (struct story_cpu){ 1100, 1, "b", "GET /", 1, 900, 910 });
		story_cpu(&totals, (struct story_cpu){ 1200, 1, "c", "GET /", 1, 900, 910 });
		assert_null(story_find(&data, "a"));
		assert_int_equal(data.sample_count, 0);
		assert_int_equal(data.dropped_samples, 3);
	}
}

FIXTURE_TEST(page_data_filters_samples_without_request)
{
	char text[] = "endpoint=GET /";

	assert_int_equal(filter_add(&totals.selection.filter, text), 0);
	story_sample(&totals, (struct story_sample){ 1000, "", NULL, "s", 1, NULL });
	story_sample(&totals, (struct story_sample){ 1000, "", "POST /", "s", 1, NULL });
	assert_int_equal(data.sample_count, 0);
	story_sample(&totals, (struct story_sample){ 1000, "", "GET /", "s", 2, NULL });
	assert_int_equal(data.nobody.sample_count, 1);
	assert_int_equal(data.nobody.samples[0].part, TOTALS_PART_ATTRIBUTED);
	assert_int_equal(data.nobody.samples[0].group, 1);
}

FIXTURE_TEST(page_data_counts_samples_dropped_beyond_limit)
{
	data.limits.samples = 2;
	for (int i = 0; i < 4; i++)
		story_sample(&totals, (struct story_sample){ 1000, "", NULL, "s", 3, NULL });
	assert_int_equal(data.sample_count, 2);
	assert_int_equal(data.dropped_samples, 6);
}

FIXTURE_TEST(page_data_rejects_slice_without_state_or_time)
{
	for (int part = 0; part < 4; part++) {
		struct sample sample;

		sample_record(&sample, "slice pid=42 request_id=a endpoint=\"GET /\"");
		if (part != 0)
			sample_fields(&sample, "state=blocked");
		if (part != 1)
			sample_fields(&sample, "start_ns=900");
		if (part != 2)
			sample_fields(&sample, "end_ns=910");
		assert_int_equal(story_tell(&totals, &sample, 1000), 0);
		assert_int_equal(data.slice_count, part == 3);
	}
}

FIXTURE_TEST(page_data_sorts_nobody_cells_by_time_part_and_group)
{
	data.limits.requests = 1;
	story_cpu(&totals, (struct story_cpu){ 1100, 1, "", "", 1, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "a", "GET /a", 1, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "b", "GET /b", 2, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "c", "GET /a", 4, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "d", "GET /b", 8, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "", "", 16, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "dear", "GET /c", 32, 0, 0 });
	finish();
	assert_int_equal(data.request_count, 1);
	assert_non_null(story_find(&data, "dear"));
	assert_int_equal(data.nobody.cell_count, 4);
	/* By the parts' numbers: what is of groups, the rest of that time, and then later. */
	for (size_t i = 0; i + 1 < 4; i++) {
		const struct page_cell *one = &data.nobody.cells[i], *next = one + 1;

		assert_true(one->wall_ns < next->wall_ns || one->part < next->part ||
			    one->group < next->group);
	}
	assert_int_equal(sum_of_cells(&data.nobody), 32 - 1 + 1);
}

FIXTURE_TEST(page_data_origin_is_earliest_window_start)
{
	struct sample sample;

	story_cpu(&totals, (struct story_cpu){ 1000, 1, "a", "GET /", 1, 0, 0 });
	sample_begin_cpu(&sample, 42, 1, "a", 1, 0);
	sample_fields(&sample, "window_ns=800");
	assert_int_equal(story_tell(&totals, &sample, 1200), 0);
	story_cpu(&totals, (struct story_cpu){ 1300, 1, "a", "GET /", 1, 0, 0 });
	finish();
	assert_int_equal(data.origin_ns, 400);
}

FIXTURE_TEST(page_data_keeps_threads_of_hosts_apart)
{
	static const char *const hosts[] = { "one", "two" };

	for (int i = 0; i < 2; i++)
		story_record(&totals, 1000,
			     "cpu host_name=%s pid=42 tid=7 request_id=\"%s\" cpu_ns=1", hosts[i],
			     hosts[i]);
	finish();
	assert_int_not_equal(story_find(&data, "one")->cells[0].thread,
			     story_find(&data, "two")->cells[0].thread);
}

enum {
	TOLD = 5
};

static struct record_view views[TOLD];
static struct sample samples[TOLD];

static void prepare(void)
{
	for (int i = 0; i < TOLD; i++) {
		if (i == TOLD - 1)
			story_begin_slice(&samples[i], "b", "running", 1, 2, 3);
		else
			story_begin_cpu(&samples[i], (struct story_cpu){ 1000, i, i ? "a" : "",
									 i ? "G" : "", 1, 0, 0 });
		story_view(&samples[i], 1000, &views[i]);
	}
}

/* With memory that runs out: 0, or what was said. */
static int tell_all(const struct page_limits *limits_of_page)
{
	static const char *const by[] = { "endpoint" };
	int r = totals_init(&totals, by, 1);

	if (r == 0)
		r = page_data_init(&data, &totals, limits_of_page);
	for (int i = 0; i < TOLD && r == 0; i++)
		r = totals_add(&totals, &views[i]);
	if (r == 0)
		r = totals_finish(&totals);
	if (r == 0)
		r = page_data_finish(&data);
	return r;
}

static void fail_and_tell_all(const struct page_limits *limits_of_page)
{
	assert_each_allocation_can_fail(tell_all(limits_of_page), (void)teardown(NULL));
	(void)teardown(NULL);
}

TEST(page_data_returns_enomem_without_memory)
{
	/* What is given up takes some, too: slices at once, requests at the end. */
	static const struct page_limits tight = {
		.requests = 1, .cells = 100, .times = 2, .groups = 1, .threads = 2
	};

	prepare();
	fail_and_tell_all(NULL);
	fail_and_tell_all(&tight);
	for (int i = 0; i < TOLD; i++)
		msgpack_sbuffer_destroy(&samples[i].buffer);
}
