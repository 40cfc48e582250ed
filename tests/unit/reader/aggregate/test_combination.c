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

/* A cpu record of such fields. */
static void add(const char *fields)
{
	sample_add_record(&totals, "cpu pid=42 tid=7 %s", fields);
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
	add("cpu_ns=1 request_id=\"1\" endpoint=GET queue=web");
	add("cpu_ns=2 request_id=\"2\" endpoint=GET queue=web");
	add("cpu_ns=4 request_id=\"3\" endpoint=GET queue=jobs");
	add("cpu_ns=8 request_id=\"4\" endpoint=ET queue=Gweb");
	add("cpu_ns=16 request_id=\"5\"");
	add("cpu_ns=32 request_id= endpoint= queue=");
	expect("ET|Gweb 8 1; GET|jobs 4 1; GET|web 3 2; none 16 1");
}

FIXTURE_TEST(grouping_by_two_keys_leaves_missing_key_empty)
{
	begin("endpoint,queue");
	add("cpu_ns=1 request_id=\"1\" endpoint=GET");
	add("cpu_ns=2 request_id=\"1\" endpoint=GET queue=");
	add("cpu_ns=4 request_id=\"2\" queue=jobs");
	add("cpu_ns=8 endpoint=GET");
	add("cpu_ns=16");
	expect("|jobs 4 1; GET| 11 1; none 16 0");
}

/* Whatever was known first; and what it lacks later is the last one's. */
FIXTURE_TEST(grouping_applies_late_keys_to_whole_request)
{
	begin("endpoint,queue");
	add("cpu_ns=1 request_id=\"1\"");
	add("cpu_ns=2 request_id=\"1\" queue=web");
	add("cpu_ns=4 request_id=\"1\" endpoint=GET");
	add("cpu_ns=8 request_id=\"1\" endpoint=GET queue=web");
	add("cpu_ns=16 request_id=\"1\"");
	add("cpu_ns=32 request_id=\"1\" endpoint=POST");
	expect("GET|web 31 0; POST|web 32 1; none 0 0");
}

/* A thread is the record's own, the endpoint its request's. */
FIXTURE_TEST(grouping_keeps_threads_apart_if_key_comes_late)
{
	begin("thread_name,endpoint");
	add("cpu_ns=1 request_id=\"1\" thread_name=a");
	add("cpu_ns=2 request_id=\"1\" thread_name=b");
	add("cpu_ns=4 request_id=\"1\" thread_name=a");
	add("cpu_ns=8 request_id=\"1\" endpoint=GET thread_name=c");
	add("cpu_ns=16 request_id=\"1\" thread_name=b");
	add("cpu_ns=32 request_id=\"2\" thread_name=a");
	add("cpu_ns=64 request_id=\"3\"");
	add("cpu_ns=128 request_id=\"3\" endpoint=PUT thread_name=d");
	expect("|PUT 64 0; a| 32 1; a|GET 5 0; b|GET 18 1; c|GET 8 0; d|PUT 128 1; none 0 0");
}

FIXTURE_TEST(grouping_by_attribution_covers_all_time)
{
	static const char *const flags[] = { "unknown", "overflow", "inherited" };

	begin("endpoint,attribution");
	assert_true(totals.groupings[0].has_all_time);
	add("cpu_ns=1 request_id=\"1\" endpoint=GET");
	add("cpu_ns=2 request_id= endpoint=");
	for (int i = 0; i < 3; i++)
		sample_add_record(&totals,
				  "cpu pid=42 request_id=\"%s\" endpoint=%s cpu_ns=%d flags=[%s]",
				  i == 2 ? "2" : "", i == 2 ? "GET" : "", 4 << i, flags[i]);
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
	add("cpu_ns=1 request_id=\"1\" queue=web");
	add("cpu_ns=2 request_id=\"1\" endpoint=GET queue=web");
	add("cpu_ns=4 request_id=\"2\" endpoint=PUT queue=web");
	expect("GET|web 3 1; none 0 0");
	assert_int_equal(totals.all.sums[COST_CPU], 3);
}

static void add_unattributed(const char *thread_name, const char *flag, int64_t cpu_ns)
{
	struct sample sample;

	sample_record(&sample, "cpu pid=42 request_id=");
	if (thread_name)
		sample_fields(&sample, "thread_name=\"%s\"", thread_name);
	sample_fields(&sample, "cpu_ns=%ld", cpu_ns);
	if (flag)
		sample_fields(&sample, "flags=[%s]", flag);
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
	add("cpu_ns=32 request_id=\"1\" thread_name=a");
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
	add("cpu_ns=1 queue=web thread_name=x");
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
		add("cpu_ns=1 request_id=\"1\" thread_name=a");
		sample_record(&sample,
			      "cpu pid=42 request_id=\"1\" thread_name=b endpoint=%s cpu_ns=1",
			      successes % 2 ? "GET" : "");
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
