/* SPDX-License-Identifier: GPL-2.0-only */
/* The data of a page, read back by a reader of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"
#include <jansson.h>

#include "reader/report/html/page_columns.h"
#include "reader/report/html/page_story.h"

static struct totals totals;
static struct page_data data;
static json_t *printed;

static int setup(void **state)
{
	static const char *const by[] = { "endpoint" };

	(void)state;
	return totals_init(&totals, by, 1) || page_data_init(&data, &totals, NULL);
}

static int teardown(void **state)
{
	(void)state;
	page_data_deinit(&data);
	totals_deinit(&totals);
	json_decref(printed);
	printed = NULL;
	return 0;
}

static void print(void)
{
	char *text = NULL;
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);
	json_error_t error;

	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(page_data_finish(&data), 0);
	assert_int_equal(page_columns_print(&data, out), 0);
	assert_int_equal(fclose(out), 0);
	printed = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!printed)
		fail_msg("%s: %s", error.text, text);
	free(text);
}

static int digit_of(char digit)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = strchr(digits, digit);

	assert_non_null(found);
	return (int)(found - digits);
}

/* The bytes of base64 text without padding. */
static size_t decode(const char *text, uint8_t *ret_bytes)
{
	size_t count = 0;
	uint32_t bits = 0;
	int bit_count = 0;

	for (; *text; text++) {
		bits = bits << 6 | (uint32_t)digit_of(*text);
		bit_count += 6;
		if (bit_count >= 8) {
			bit_count -= 8;
			ret_bytes[count++] = (uint8_t)(bits >> bit_count);
		}
	}
	return count;
}

static void expect_column(const char *table, const char *name, const int64_t *numbers, size_t count)
{
	const char *text =
		json_string_value(json_object_get(json_object_get(printed, table), name));
	uint8_t bytes[256];
	size_t byte_count, at = 0;

	if (!text)
		fail_msg("no column %s", name);
	byte_count = decode(text, bytes);
	for (size_t i = 0; i < count; i++) {
		uint64_t number = 0;

		for (int shift = 0;; shift += 7) {
			assert_in_range(at, 0, byte_count - 1);
			number |= (uint64_t)(bytes[at] & 0x7f) << shift;
			if (!(bytes[at++] & 0x80))
				break;
		}
		if ((int64_t)number != numbers[i])
			fail_msg("%s[%zu] is %lld", name, i, (long long)number);
	}
	if (at != byte_count)
		fail_msg("%s has more numbers", name);
}

#define EXPECT_COLUMN(table, name, ...)                              \
	expect_column(table, name, (const int64_t[]){ __VA_ARGS__ }, \
		      sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

static void expect_texts(const char *name, const char *const *texts, size_t count)
{
	const json_t *array = json_object_get(printed, name);

	assert_int_equal(json_array_size(array), count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(json_string_value(json_array_get(array, i)), texts[i]);
}

static int64_t number_of(const char *table, const char *name)
{
	return json_integer_value(json_object_get(json_object_get(printed, table), name));
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(page_columns_encode_cells_as_recorded)
{
	static const char *const ids[] = { "a", "b\\x01" }, *const groups[] = { "GET /", "</p>" },
				 *const threads[] = { "42/1 worker", "42/2 worker" };
	/* The samples lack migrations, stolen, split_error, uninterruptible, syscalls, GVL
	 * and why they were blocked. */
	const int64_t lacks = 1 << COST_MIGRATIONS | 1 << COST_STOLEN | 1 << COST_SPLIT_ERROR |
			      1 << COST_UNINTERRUPTIBLE | 1 << COST_SYSCALLS | 1 << COST_GVL |
			      1 << COST_GVL_WAITS | 1 << COST_GC | 1 << COST_GC_RUNS |
			      ((2 << COST_BLOCKED_OTHER) - (1 << COST_BLOCKED_DISK)),
		      no_span = 1 << _COST_MAX;

	story_cpu(&totals, (struct story_cpu){ 1000, 1, "a", "GET /", 127, 900, 1000 });
	story_cpu(&totals, (struct story_cpu){ 1100, 2, "a", "GET /", 128, 1001, 1099 });
	story_cpu(&totals, (struct story_cpu){ 1100, 1, "b\1", NULL, INT64_MAX, 0, 0 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "", "</p>", 1LL << 40, 800, 1200 });
	story_cpu(&totals, (struct story_cpu){ 1100, 2, "", "", 0, 0, 0 });
	print();
	assert_string_equal(json_string_value(json_object_get(printed, "by")), "endpoint");
	expect_texts("ids", ids, 2);
	expect_texts("groups", groups, 2);
	expect_texts("threads", threads, 2);
	assert_int_equal(number_of("cells", "count"), 5);
	EXPECT_COLUMN("cells", "of_request", 2, 1);
	EXPECT_COLUMN("cells", "time", 0, 1, 1, 0, 1);
	EXPECT_COLUMN("cells", "group", 1, 1, 0, 2, 0);
	EXPECT_COLUMN("cells", "thread", 1, 2, 1, 1, 2);
	EXPECT_COLUMN("cells", "part", 0, 0, 0, 0, 1);
	EXPECT_COLUMN("cells", "missing", lacks, lacks, lacks | no_span, lacks, lacks | no_span);
	/* From 900 on; what was before is there. */
	EXPECT_COLUMN("cells", "first", 0, 101, 0, 0, 0);
	EXPECT_COLUMN("cells", "span", 100, 98, 0, 400, 0);
	EXPECT_COLUMN("cells", "cpu", 127, 128, INT64_MAX, 1LL << 40, 0);
	EXPECT_COLUMN("cells", "user", 127, 128, INT64_MAX, 1LL << 40, 0);
	EXPECT_COLUMN("cells", "kernel", 0, 0, 0, 0, 0);
	EXPECT_COLUMN("cells", "run_queue", 1, 1, 1, 1, 1);
	EXPECT_COLUMN("cells", "blocked", 2, 2, 2, 2, 2);
	EXPECT_COLUMN("cells", "syscalls", 0, 0, 0, 0, 0);
	assert_int_equal(json_integer_value(json_object_get(printed, "folded")), 0);
}

FIXTURE_TEST(page_columns_encode_books_of_each_time)
{
	story_balance(&totals, 1000, 10, 5);
	story_balance(&totals, 1000, 110, 100);
	story_balance(&totals, 1100, 1000, 1009);
	story_record(&totals, 1100, "self pid=9 own_cpu_ns=77");
	story_record(&totals, 1150, "gap pid=9 dropped_records=3");
	print();
	assert_int_equal(number_of("times", "count"), 3);
	assert_int_equal(number_of("times", "merged"), 0);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(printed, "times"), "origin_ns")),
		"900");
	EXPECT_COLUMN("times", "end", 100, 200, 250);
	EXPECT_COLUMN("times", "start", 0, 100, 250);
	EXPECT_COLUMN("times", "balances", 2, 1, 0);
	EXPECT_COLUMN("times", "exec", 120, 1000, 0);
	EXPECT_COLUMN("times", "attributed", 105, 1009, 0);
	EXPECT_COLUMN("times", "unattributed", 6, 3, 0);
	EXPECT_COLUMN("times", "overflow", 4, 2, 0);
	EXPECT_COLUMN("times", "worst_missing", 5, 0, 0);
	EXPECT_COLUMN("times", "worst_too_much", 0, 14, 0);
	EXPECT_COLUMN("times", "own_cpu", 12, 6, 0);
	EXPECT_COLUMN("times", "self_cpu", 0, 77, 0);
	EXPECT_COLUMN("times", "dropped", 0, 0, 3);
	EXPECT_COLUMN("times", "events_lost", 8, 4, 0);
	EXPECT_COLUMN("times", "slices_lost", 0, 0, 0);
	assert_non_null(strstr(json_string_value(json_object_get(json_object_get(printed, "losses"),
								 "events_lost")),
			       "ring full"));
}

FIXTURE_TEST(page_columns_encode_slice_starts_as_deltas)
{
	story_cpu(&totals, (struct story_cpu){ 1000, 7, "a", "GET /", 1, 910, 990 });
	story_cpu(&totals, (struct story_cpu){ 1000, 7, "b", "GET /", 1, 910, 990 });
	story_slice(&totals, "a", "blocked", 950, 960, -1);
	story_slice(&totals, "a", "running", 880, 950, 0);
	story_slice(&totals, "b", "run_queue", 930, 935, -1);
	story_slice(&totals, "a", "uninterruptible", 960, 960, -1);
	print();
	assert_int_equal(number_of("slices", "count"), 4);
	assert_int_equal(number_of("slices", "dropped"), 0);
	EXPECT_COLUMN("slices", "of_request", 3, 1);
	EXPECT_COLUMN("slices", "state", 0, 2, 3, 1);
	EXPECT_COLUMN("slices", "start", 0, 50, 10, 30);
	EXPECT_COLUMN("slices", "span", 70, 10, 0, 5);
	EXPECT_COLUMN("slices", "cpu", 1, 0, 0, 0);
	EXPECT_COLUMN("slices", "woken_by", 0, 99, 99, 99);
	EXPECT_COLUMN("slices", "fiber", STORY_FIBER, 0, 0, 0);
	EXPECT_COLUMN("slices", "thread", 2, 2, 2, 2);
}

FIXTURE_TEST(page_columns_link_samples_to_their_frames)
{
	static const char *const texts[] = { "call", "spin", "[unknown]", "app.rb" };
	json_t *all;

	story_cpu(&totals, (struct story_cpu){ 1000, 1, "b", "GET /", 1, 910, 990 });
	story_cpu(&totals, (struct story_cpu){ 1100, 1, "a", "GET /", 1, 910, 990 });
	story_stack(&totals, "call", NULL, "call", 1000);
	story_stack(&totals, "idle", "call", "idle", 1000); /* Nobody is seen there. */
	story_stack(&totals, "spin", "call", "spin", 1000);
	story_sample(&totals, (struct story_sample){ 1100, "a", NULL, "spin", 3, NULL });
	story_sample(&totals, (struct story_sample){ 1000, "b", "GET /", "call", 2, NULL });
	story_sample(&totals, (struct story_sample){ 1000, "", NULL, "spin", 1, NULL });
	story_sample(&totals, (struct story_sample){ 1000, "", NULL, "spin", 4, "overflow" });
	story_sample(&totals, (struct story_sample){ 1100, "", "GET /b", "", 5, NULL });
	print();
	all = printed;
	printed = json_object_get(all, "code");
	assert_int_equal(json_integer_value(json_object_get(printed, "dropped")), 0);
	assert_int_equal(number_of("frames", "count"), 3);
	EXPECT_COLUMN("frames", "parent", 0, 1, 0);
	EXPECT_COLUMN("frames", "kind", FRAME_KIND_C, FRAME_KIND_C, FRAME_KIND_UNKNOWN);
	EXPECT_COLUMN("frames", "first_line", 11, 11, 0);
	EXPECT_COLUMN("frames", "name", 1, 2, 3);
	EXPECT_COLUMN("frames", "file", 4, 4, 0);
	expect_texts("texts", texts, 4);
	assert_int_equal(json_array_size(json_object_get(printed, "kinds")), _FRAME_KIND_MAX);
	assert_int_equal(number_of("samples", "count"), 5);
	EXPECT_COLUMN("samples", "of_request", 1, 1);
	EXPECT_COLUMN("samples", "time", 0, 1, 0, 0, 1);
	EXPECT_COLUMN("samples", "group", 1, 0, 0, 0, 2);
	EXPECT_COLUMN("samples", "part", 0, 0, 1, 2, 0);
	EXPECT_COLUMN("samples", "frame", 1, 2, 2, 2, 3);
	EXPECT_COLUMN("samples", "samples", 2, 3, 1, 4, 5);
	EXPECT_COLUMN("samples", "stands_for", 20, 30, 10, 40, 50);
	printed = all;
}

FIXTURE_TEST(page_columns_are_empty_without_records)
{
	print();
	assert_int_equal(number_of("times", "count"), 0);
	expect_column("cells", "cpu", NULL, 0);
	assert_null(json_object_get(printed, "code"));
	assert_int_equal(json_array_size(json_object_get(printed, "ids")), 0);
}
