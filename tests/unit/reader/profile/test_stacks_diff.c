/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/profile/recorded_stacks.h"
#include "reader/report/formats.h"
#include "record/golden.h"
#include "record/sample.h"

struct sides {
	struct stacks before;
	struct stacks after;
};

/* Requests of which each is in `main', and so many samples of it in `work', which main calls. */
static void add_requests(struct stacks *stacks, size_t count, int64_t work, int64_t spread)
{
	recorded_stacks_frame(stacks, "1", NULL, "main", 1);
	recorded_stacks_frame(stacks, "2", "1", "work", 1);
	for (size_t i = 0; i < count; i++) {
		char id[32];

		(void)snprintf(id, sizeof(id), "r%zu", i);
		recorded_stacks_cpu(stacks, id, 1000000000);
		recorded_stacks_sample(stacks, id, "1", 10);
		recorded_stacks_sample(stacks, id, "2", work + (i % 2 ? spread : -spread));
	}
}

static const struct stacks_diff_row *find(const struct stacks_diff *diff, const char *name)
{
	for (const struct stacks_diff_row *row = diff->rows; row; row = row->hh.next)
		if (strcmp(row->key.name->bytes, name) == 0)
			return row;
	fail_msg("no %s", name);
	return NULL;
}

static struct stacks_diff compare(struct sides *sides)
{
	struct stacks_diff diff;

	assert_int_equal(stacks_finish(&sides->before), 0);
	assert_int_equal(stacks_finish(&sides->after), 0);
	assert_int_equal(stacks_diff_init(&diff, &sides->before, &sides->after), 0);
	return diff;
}

static int setup(void **state);
static int teardown(void **state);

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(stacks_diff_finds_method_using_more_cpu_and_its_caller)
{
	struct sides *sides = *state;
	const struct stacks_diff_row *work, *caller;
	struct stacks_diff diff;

	add_requests(&sides->before, 20, 20, 5);
	add_requests(&sides->after, 20, 40, 5);
	diff = compare(sides);
	work = find(&diff, "work");
	caller = find(&diff, "main");
	assert_ptr_equal(diff.rows, work);
	assert_true(diff_has_changed(&work->figures[STACKS_DIFF_SELF]));
	assert_true(diff_has_changed(&work->figures[STACKS_DIFF_TOTAL]));
	assert_true(diff_has_changed(&caller->figures[STACKS_DIFF_TOTAL]));
	assert_false(diff_has_changed(&caller->figures[STACKS_DIFF_SELF]));
	assert_int_equal(work->figures[STACKS_DIFF_SELF].before_ns, 20 * RECORDED_STACKS_PERIOD_NS);
	assert_int_equal(work->figures[STACKS_DIFF_SELF].after_ns, 40 * RECORDED_STACKS_PERIOD_NS);
	assert_int_equal(caller->figures[STACKS_DIFF_TOTAL].after_ns,
			 50 * RECORDED_STACKS_PERIOD_NS);
	assert_int_equal(diff.changed_count, 3);
	stacks_diff_deinit(&diff);
}

FIXTURE_TEST(stacks_diff_finds_no_change_between_equal_sides)
{
	struct sides *sides = *state;
	struct stacks_diff diff;

	add_requests(&sides->before, 20, 20, 5);
	add_requests(&sides->after, 20, 20, 5);
	diff = compare(sides);
	assert_true(diff.tested_count > 0);
	assert_int_equal(diff.changed_count, 0);
	stacks_diff_deinit(&diff);
}

FIXTURE_TEST(stacks_diff_counts_request_without_samples_as_zero)
{
	struct sides *sides = *state;
	struct stacks_diff diff;

	add_requests(&sides->before, 20, 20, 5);
	add_requests(&sides->after, 20, 20, 5);
	for (size_t i = 0; i < 20; i++) {
		char id[32];

		(void)snprintf(id, sizeof(id), "q%zu", i);
		recorded_stacks_cpu(&sides->after, id, 1000);
	}
	diff = compare(sides);
	assert_int_equal(diff.requests[1], 40);
	assert_int_equal(find(&diff, "work")->figures[STACKS_DIFF_SELF].after_ns,
			 10 * RECORDED_STACKS_PERIOD_NS);
	stacks_diff_deinit(&diff);
}

FIXTURE_TEST(stacks_diff_skips_test_of_method_seen_in_few_requests)
{
	struct sides *sides = *state;
	struct stacks_diff diff;

	add_requests(&sides->before, 20, 20, 5);
	add_requests(&sides->after, 20, 20, 5);
	recorded_stacks_frame(&sides->after, "3", "1", "rare", 1);
	for (size_t i = 0; i < STACKS_DIFF_SEEN_MIN - 1; i++) {
		char id[32];

		(void)snprintf(id, sizeof(id), "r%zu", i);
		recorded_stacks_sample(&sides->after, id, "3", 1000);
	}
	diff = compare(sides);
	assert_false(find(&diff, "rare")->figures[STACKS_DIFF_SELF].is_tested);
	assert_int_equal(find(&diff, "rare")->figures[STACKS_DIFF_SELF].before_ns, 0);
	stacks_diff_deinit(&diff);
}

FIXTURE_TEST(stacks_diff_clamps_time_of_one_request)
{
	struct sides *sides = *state;
	struct stacks_diff diff;

	recorded_stacks_cpu(&sides->before, "r", INT64_MAX);
	recorded_stacks_cpu(&sides->after, "r", INT64_C(1) << 43);
	diff = compare(sides);
	assert_true(diff.spent.is_known);
	assert_true(diff.spent.before_ns == INT64_C(1) << 43);
	assert_true(diff.spent.after_ns == INT64_C(1) << 43);
	stacks_diff_deinit(&diff);
}

FIXTURE_TEST(stacks_diff_counts_recursive_method_once)
{
	struct sides *sides = *state;
	struct stacks_diff diff;

	add_requests(&sides->before, 20, 20, 5);
	recorded_stacks_frame(&sides->after, "1", NULL, "work", 1);
	recorded_stacks_frame(&sides->after, "2", "1", "work", 2);
	recorded_stacks_cpu(&sides->after, "r", 1000000000);
	recorded_stacks_sample(&sides->after, "r", "2", 30);
	diff = compare(sides);
	assert_int_equal(find(&diff, "work")->figures[STACKS_DIFF_TOTAL].after_ns,
			 30 * RECORDED_STACKS_PERIOD_NS);
	stacks_diff_deinit(&diff);
}

FIXTURE_TEST(stacks_diff_prints_changes_as_text_and_json)
{
	const struct stacks_view_options options = { .width = 80, .method_count = 1 };
	struct sides *sides = *state;
	char *text = NULL, *json_text = NULL;
	size_t size_bytes;
	struct stacks_diff diff;
	FILE *out;
	json_t *root;

	add_requests(&sides->before, 20, 20, 5);
	add_requests(&sides->after, 20, 40, 5);
	diff = compare(sides);
	out = open_memstream(&text, &size_bytes);
	stacks_diff_view_print(&diff, &options, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "\nwork\n    self"));
	assert_non_null(strstr(text, "MORE"));
	assert_non_null(strstr(text, "1 more\n"));
	out = open_memstream(&json_text, &size_bytes);
	assert_int_equal(print_stacks_diff_json(&diff, &options, out), 0);
	assert_int_equal(fclose(out), 0);
	root = json_loads(json_text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "changed")), 3);
	assert_int_equal(json_array_size(json_object_get(root, "methods")), 2);
	json_decref(root);
	free(text);
	free(json_text);
	stacks_diff_deinit(&diff);
}

FIXTURE_TEST(stacks_diff_csv_rows_have_all_columns)
{
	struct sides *sides = *state;
	size_t size_bytes, columns = 0;
	struct stacks_diff diff;
	char *text = NULL, *rest, *line;
	FILE *out;

	add_requests(&sides->before, 20, 20, 5);
	add_requests(&sides->after, 2, 40, 5);
	diff = compare(sides);
	out = open_memstream(&text, &size_bytes);
	assert_int_equal(print_stacks_diff_csv(&diff, &(struct stacks_view_options){ 0 }, out), 0);
	assert_int_equal(fclose(out), 0);
	for (line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
		size_t count = 1;

		for (const char *c = line; *c; c++)
			count += *c == ',';
		columns = columns ? columns : count;
		assert_int_equal(count, columns);
	}
	free(text);
	stacks_diff_deinit(&diff);
}

/* A method of a file. */
static void add_method(struct stacks *stacks, const char *id, const char *name, int64_t first_line)
{
	recorded_stacks_record(stacks,
			       "stack pid=7 stack_id=\"%s\" parent_id=\"1\" name=\"%s\" "
			       "file=\"/app/\\\"a\\\".rb\" frame_kind=c first_line=%ld",
			       id, name, first_line);
}

/* One more than before, one less, one that only came to be, in as few requests as are tested and in
 * one less, and one of two of a name. */
static void add_changes(struct sides *sides)
{
	char id[32];

	add_requests(&sides->before, 20, 20, 5);
	add_requests(&sides->after, 24, 40, 5);
	for (size_t i = 0; i < 2; i++) {
		struct stacks *stacks = i == 0 ? &sides->before : &sides->after;

		add_method(stacks, "3", "less", 3);
		add_method(stacks, "4", "twin", 4);
		add_method(stacks, "5", "twin", 5);
		add_method(stacks, "6", "tested", 6);
		add_method(stacks, "7", "too rare", 0);
		for (size_t request = 0; request < 10; request++) {
			(void)snprintf(id, sizeof(id), "r%zu", request);
			recorded_stacks_sample(stacks, id, "3", i == 0 ? 90 : 10);
			recorded_stacks_sample(stacks, id, "4", 7);
			recorded_stacks_sample(stacks, id, "5", 7 - (int64_t)i);
			if (i == 1)
				recorded_stacks_sample(stacks, id, "6", 2);
			if (request < 9 && i == 1)
				recorded_stacks_sample(stacks, id, "7", 100);
		}
	}
	recorded_stacks_cpu(&sides->after, "r0", 5000000);
}

FIXTURE_TEST(stacks_diff_formats_match_golden_files)
{
	const struct stacks_view_options options = { .width = 80 };
	struct stacks_diff diff;
	size_t size_bytes;

	add_changes(*state);
	diff = compare(*state);
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "stacks-diff.txt", "stacks-diff.json",
						     "stacks-diff.csv" };
		char *text = NULL;
		FILE *out = open_memstream(&text, &size_bytes);

		if (i == 0)
			stacks_diff_view_print(&diff, &options, out);
		else
			assert_int_equal((i == 1 ? print_stacks_diff_json
						 : print_stacks_diff_csv)(&diff, &options, out),
					 0);
		assert_int_equal(fclose(out), 0);
		golden_compare(names[i], text, size_bytes);
		free(text);
	}
	stacks_diff_deinit(&diff);
}

FIXTURE_TEST(stacks_diff_fails_with_enomem_when_allocation_fails)
{
	struct sides *sides = *state;
	struct stacks_diff diff;
	size_t failures = 0;

	add_changes(sides);
	assert_int_equal(stacks_finish(&sides->before), 0);
	assert_int_equal(stacks_finish(&sides->after), 0);
	assert_each_allocation_can_fail(stacks_diff_init(&diff, &sides->before, &sides->after),
					(failures++, stacks_diff_deinit(&diff)));
	stacks_diff_deinit(&diff);
	assert_true(failures > 9);
}

static int setup(void **state)
{
	static struct sides sides;
	struct filter filter = { 0 };

	stacks_init(&sides.before, STACKS_CPU, &filter);
	stacks_init(&sides.after, STACKS_CPU, &filter);
	*state = &sides;
	return 0;
}

static int teardown(void **state)
{
	struct sides *sides = *state;

	stacks_deinit(&sides->before);
	stacks_deinit(&sides->after);
	return 0;
}

/* Each sleeps in `nap', below which are the kernel's frames, so long. */
static void add_naps(struct stacks *stacks, int64_t nap_ns)
{
	recorded_stacks_frame(stacks, "1", NULL, "main", 1);
	recorded_stacks_frame(stacks, "2", "1", "nap", 1);
	recorded_stacks_frame_of(stacks, "3", "2", "__schedule", "kernel");
	for (int i = 0; i < 12; i++) {
		int64_t spread_ns = i % 2 ? 1000 : -1000;
		char id[32];

		(void)snprintf(id, sizeof(id), "r%d", i);
		recorded_stacks_off_cpu(stacks, id, nap_ns + spread_ns, 500);
		recorded_stacks_wait(stacks, id, "3", 2, nap_ns + spread_ns, 500);
	}
}

static void expect_said(const struct stacks_diff *diff)
{
	const struct stacks_view_options options = { .width = 80 };
	char *text = NULL, *json_text = NULL;
	size_t size_bytes;
	FILE *out = open_memstream(&text, &size_bytes);

	stacks_diff_view_print(diff, &options, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "blocked or for a CPU, by method: before 12 requests, 24"));
	assert_non_null(strstr(text, "\n    off CPU  40.50 us"));
	out = open_memstream(&json_text, &size_bytes);
	assert_int_equal(print_stacks_diff_json(diff, &options, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(json_text, "\"after\":{\"requests\":12,\"waits\":24}"));
	assert_non_null(strstr(json_text, "\"total\":{\"before_ns\":40500,"));
	free(text);
	free(json_text);
}

FIXTURE_TEST(stacks_diff_off_cpu_reports_longer_waits_by_method)
{
	struct sides *sides = *state;
	struct filter filter = { 0 };
	struct stacks_diff diff;

	teardown(state);
	stacks_init(&sides->before, STACKS_OFF_CPU, &filter);
	stacks_init(&sides->after, STACKS_OFF_CPU, &filter);
	add_naps(&sides->before, 40000);
	add_naps(&sides->after, 60000);
	diff = compare(sides);
	assert_int_equal(HASH_COUNT(diff.rows), 2);
	assert_int_equal(find(&diff, "nap")->figures[STACKS_DIFF_SELF].before_ns, 40500);
	assert_int_equal(find(&diff, "nap")->figures[STACKS_DIFF_SELF].after_ns, 60500);
	assert_true(diff_has_changed(&find(&diff, "nap")->figures[STACKS_DIFF_SELF]));
	assert_int_equal(diff.spent.before_ns, 40500);
	assert_int_equal(diff.spent.after_ns, 60500);
	expect_said(&diff);
	stacks_diff_deinit(&diff);
}
