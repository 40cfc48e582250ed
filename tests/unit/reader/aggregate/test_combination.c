/* SPDX-License-Identifier: GPL-2.0-only */
/* Combinations as text, and what records add up to by several keys at once. */
#include <errno.h>
#include <stdio.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/aggregate/sample_totals.h"
#include "requests/attribution.h"

static struct totals totals;

static int teardown(void **state)
{
	(void)state;
	totals_deinit(&totals);
	return 0;
}

static void begin(const char *by)
{
	totals_deinit(&totals);
	assert_int_equal(totals_init(&totals, &by, 1), 0);
}

static struct combination combination_of(const char *first, const char *second)
{
	return (struct combination){
		.part_count = 2,
		.parts = { { { first, strlen(first) }, 0 }, { { second, strlen(second) }, 1 } },
	};
}

#define FIXTURE_TEST(test) TEST_WITH(test, NULL, teardown)

FIXTURE_TEST(combination_round_trips_without_collisions)
{
	static const char *const pairs[][2] = {
		{ "a", "bc" }, { "ab", "c" }, { "", "abc" }, { "abc", "" }, { "", "" },
	};
	char bytes[5][COMBINATION_BYTES_MAX];
	struct record_text texts[5];

	for (size_t i = 0; i < 5; i++) {
		struct combination combination = combination_of(pairs[i][0], pairs[i][1]);

		texts[i] = combination_write(&combination, bytes[i]);
		for (size_t part = 0; part < 2; part++) {
			struct combination_part read = combination_read(texts[i], part);

			assert_true(record_text_is(read.text, pairs[i][part]));
			assert_int_equal(read.host_bytes, part);
		}
		for (size_t j = 0; j < i; j++)
			assert_false(texts[i].size_bytes == texts[j].size_bytes &&
				     !memcmp(texts[i].bytes, texts[j].bytes, texts[i].size_bytes));
	}
}

FIXTURE_TEST(combination_marks_empty_part_as_absent)
{
	struct combination both = combination_of("", ""), second = combination_of("a", "");

	assert_int_equal(combination_absent(&both), 3);
	assert_int_equal(combination_absent(&second), 2);
}

/* NULL: the record has no such field. */
static void add(const char *request_id, const char *endpoint, const char *queue,
		const char *thread_name, int64_t cpu_ns)
{
	const struct {
		const char *name, *value;
	} fields[] = {
		{ "request_id", request_id },
		{ "endpoint", endpoint },
		{ "queue", queue },
		{ "thread_name", thread_name },
	};
	struct sample sample;

	sample_begin(&sample, "cpu", 42);
	sample_number(&sample, "tid", 7);
	sample_number(&sample, "cpu_ns", cpu_ns);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].value)
			sample_text(&sample, fields[i].name, fields[i].value);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

/* "a|b cpu requests" of each group, by key; then what is in none. */
static void expect(const char *expected)
{
	static const struct group *groups[16];
	char text[1024] = "";
	size_t used = 0, count = 0;

	assert_int_equal(totals_finish(&totals), 0);
	for (const struct group *group = totals.groupings[0].groups; group;
	     group = group->hh.next) {
		size_t at = count++;

		for (; at > 0 && grouping_compare(group, groups[at - 1]) < 0; at--)
			groups[at] = groups[at - 1];
		groups[at] = group;
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t part = 0; part < groups[i]->part_count; part++) {
			struct record_text value = grouping_part(groups[i], part, false);

			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s",
						 part ? "|" : "", (int)value.size_bytes,
						 value.bytes);
		}
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %d %d; ",
					 (int)groups[i]->costs.sums[COST_CPU],
					 (int)groups[i]->request_count);
	}
	(void)snprintf(text + used, sizeof(text) - used, "none %d %d",
		       (int)totals.groupings[0].without_value.sums[COST_CPU],
		       (int)totals.groupings[0].without_value_count);
	assert_string_equal(text, expected);
}

FIXTURE_TEST(grouping_by_two_keys_has_one_group_per_combination)
{
	begin("endpoint,queue");
	add("1", "GET", "web", NULL, 1);
	add("2", "GET", "web", NULL, 2);
	add("3", "GET", "jobs", NULL, 4);
	add("4", "ET", "Gweb", NULL, 8);
	add("5", NULL, NULL, NULL, 16);
	add("", "", "", NULL, 32);
	expect("ET|Gweb 8 1; GET|jobs 4 1; GET|web 3 2; none 16 1");
}

FIXTURE_TEST(grouping_by_two_keys_leaves_missing_key_empty)
{
	begin("endpoint,queue");
	add("1", "GET", NULL, NULL, 1);
	add("1", "GET", "", NULL, 2);
	add("2", NULL, "jobs", NULL, 4);
	add(NULL, "GET", NULL, NULL, 8);
	add(NULL, NULL, NULL, NULL, 16);
	expect("|jobs 4 1; GET| 11 1; none 16 0");
}

/* Whatever was known first; and what it lacks later is the last one's. */
FIXTURE_TEST(grouping_applies_late_keys_to_whole_request)
{
	begin("endpoint,queue");
	add("1", NULL, NULL, NULL, 1);
	add("1", NULL, "web", NULL, 2);
	add("1", "GET", NULL, NULL, 4);
	add("1", "GET", "web", NULL, 8);
	add("1", NULL, NULL, NULL, 16);
	add("1", "POST", NULL, NULL, 32);
	expect("GET|web 31 0; POST|web 32 1; none 0 0");
}

/* A thread is the record's own, the endpoint its request's. */
FIXTURE_TEST(grouping_keeps_threads_apart_if_key_comes_late)
{
	begin("thread_name,endpoint");
	add("1", NULL, NULL, "a", 1);
	add("1", NULL, NULL, "b", 2);
	add("1", NULL, NULL, "a", 4);
	add("1", "GET", NULL, "c", 8);
	add("1", NULL, NULL, "b", 16);
	add("2", NULL, NULL, "a", 32);
	add("3", NULL, NULL, NULL, 64);
	add("3", "PUT", NULL, "d", 128);
	expect("|PUT 64 0; a| 32 1; a|GET 5 0; b|GET 18 1; c|GET 8 0; d|PUT 128 1; none 0 0");
}

FIXTURE_TEST(grouping_by_attribution_covers_all_time)
{
	static const char *const flags[] = { "unknown", "overflow", "inherited" };
	struct sample sample;

	begin("endpoint,attribution");
	assert_true(totals.groupings[0].has_all_time);
	add("1", "GET", NULL, NULL, 1);
	add("", "", NULL, NULL, 2);
	for (int i = 0; i < 3; i++) {
		sample_begin(&sample, "cpu", 42);
		sample_text(&sample, "request_id", i == 2 ? "2" : "");
		sample_text(&sample, "endpoint", i == 2 ? "GET" : "");
		sample_number(&sample, "cpu_ns", 4 << i);
		sample_flag(&sample, flags[i]);
		assert_int_equal(sample_add(&sample, &totals), 0);
	}
	expect("|no context 2 0; |overflow 8 0; |unknown 4 0; GET|attributed 1 1; "
	       "GET|inherited 16 1; none 0 0");
	assert_int_equal(totals.unattributed.sums[COST_CPU], 6);
	assert_int_equal(totals.overflow.sums[COST_CPU], 8);
}

/* Of a request that turns out to be wanted late, too. */
FIXTURE_TEST(grouping_applies_keys_to_records_held_by_filter)
{
	begin("endpoint,queue");
	assert_int_equal(filter_add(&totals.selection.filter, "endpoint=GET"), 0);
	add("1", NULL, "web", NULL, 1);
	add("1", "GET", "web", NULL, 2);
	add("2", "PUT", "web", NULL, 4);
	expect("GET|web 3 1; none 0 0");
	assert_int_equal(totals.all.sums[COST_CPU], 3);
}

static void add_unattributed(const char *thread_name, const char *flag, int64_t cpu_ns)
{
	struct sample sample;

	sample_begin(&sample, "cpu", 42);
	sample_text(&sample, "request_id", "");
	if (thread_name)
		sample_text(&sample, "thread_name", thread_name);
	sample_number(&sample, "cpu_ns", cpu_ns);
	if (flag)
		sample_flag(&sample, flag);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

FIXTURE_TEST(totals_split_unattributed_time_by_thread_and_reason)
{
	const struct grouping *threads = &totals.unattributed_threads;
	const struct group *group;

	begin("request_id");
	add_unattributed("a", NULL, 1);
	add_unattributed("a", "unknown", 2);
	add_unattributed("a", NULL, 4);
	add_unattributed(NULL, NULL, 8);
	add_unattributed("a", "overflow", 16);
	add("1", NULL, NULL, "a", 32);
	assert_int_equal(threads->group_count, 3);
	group = threads->groups;
	assert_int_equal(group->costs.sums[COST_CPU], 5);
	assert_true(record_text_is(grouping_part(group, 1, false), "no context"));
	group = group->hh.next;
	assert_int_equal(group->costs.sums[COST_CPU], 2);
	assert_true(record_text_is(grouping_part(group, 1, false), "unknown"));
	group = group->hh.next;
	assert_int_equal(group->costs.sums[COST_CPU], 8);
	assert_int_equal(grouping_part(group, 0, false).size_bytes, 0);
	assert_int_equal(totals.unattributed.sums[COST_CPU], 15);
}

FIXTURE_TEST(totals_sum_unattributed_threads_beyond_limit)
{
	const struct grouping *threads = &totals.unattributed_threads;
	char name[16];

	begin("request_id");
	for (int i = 0; i < TOTALS_THREADS_MAX + 2; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		add_unattributed(name, NULL, 1);
	}
	add_unattributed("0", NULL, 1);
	assert_int_equal(threads->group_count, TOTALS_THREADS_MAX);
	assert_int_equal(threads->without_value.sums[COST_CPU], 2);
	assert_int_equal(threads->groups->costs.sums[COST_CPU], 2);
}

FIXTURE_TEST(grouping_rejects_empty_duplicate_or_excess_keys)
{
	static const char *const wrong[] = { "", ",", "a,", ",a", "a,a", "a,b,a", "a,b,c,d,e" };
	struct grouping grouping;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(grouping_is_by(wrong[i]));
	assert_true(grouping_is_by("a"));
	assert_true(grouping_is_by("a,aa,b,c"));
	assert_int_equal(grouping_init(&grouping, "a,b,c,tid"), 0);
	assert_int_equal(grouping.key_count, 4);
	assert_string_equal(grouping.keys[3], "tid");
	assert_false(grouping.has_all_time);
	assert_true(grouping_has_name(&grouping, GROUP_NAME_THREAD));
	assert_true(grouping_has_name(&grouping, GROUP_NAME_COMM));
	assert_false(grouping_has_name(&grouping, GROUP_NAME_ENDPOINT));
	grouping_deinit(&grouping);
	assert_int_equal(grouping_init(&grouping, "pid,host_name"), 0);
	assert_true(grouping.has_all_time);
	grouping_deinit(&grouping);
}

FIXTURE_TEST(grouping_shows_host_before_pid_on_request)
{
	const struct group *group;

	begin("queue,tid,pid");
	add(NULL, NULL, "web", "x", 1);
	group = totals.groupings[0].groups;
	assert_true(record_text_is(grouping_part(group, 1, false), "42/7"));
	assert_true(record_text_is(grouping_part(group, 1, true), "web-1:42/7"));
	assert_true(record_text_is(grouping_part(group, 2, false), "42"));
	assert_true(record_text_is(grouping_label(group, false), "web"));
	assert_string_equal(group->names[GROUP_NAME_THREAD], "x");
	assert_true(grouping_compare_part(group, group, 1) == 0);
}

FIXTURE_TEST(totals_return_enomem_without_memory)
{
	static struct record_view view;
	int r = -ENOMEM;

	for (size_t successes = 0; r < 0; successes++) {
		struct sample sample;

		begin("thread_name,endpoint");
		add("1", NULL, NULL, "a", 1);
		sample_begin(&sample, "cpu", 42);
		sample_text(&sample, "request_id", "1");
		sample_text(&sample, "thread_name", "b");
		sample_text(&sample, "endpoint", successes % 2 ? "GET" : "");
		sample_number(&sample, "cpu_ns", 1);
		sample_decode(&sample, &view);
		memory_fails_once_after(successes / 2);
		r = totals_add(&totals, &view);
		if (r == 0)
			r = totals_finish(&totals);
		memory_never_fails();
		assert_int_equal(r, memory_failures() ? -ENOMEM : 0);
		msgpack_sbuffer_destroy(&sample.buffer);
	}
}
