/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/aggregate/sample_totals.h"

#define SECOND_NS UINT64_C(1000000000)

static struct totals totals;

static void begin(const char *by)
{
	totals_deinit(&totals);
	assert_int_equal(totals_init(&totals, &by, 1), 0);
}

static int teardown(void **state)
{
	(void)state;
	totals_deinit(&totals);
	return 0;
}

static void want(const char *condition)
{
	assert_int_equal(filter_add(&totals.selection.filter, condition), 0);
}

static int64_t cpu_of(const char *value)
{
	for (const struct group *group = totals.groupings[0].groups; group; group = group->hh.next)
		if (record_text_is(grouping_label(group, false), value))
			return group->costs.sums[COST_CPU];
	return -1;
}

#define FIXTURE_TEST(test) TEST_WITH(test, NULL, teardown)

FIXTURE_TEST(filter_reports_only_matching_value)
{
	begin("endpoint");
	want("endpoint=orders");
	sample_add_cpu(&totals, 1, "a", "orders", 10, 0);
	sample_add_cpu(&totals, 1, "b", "order", 20, 0);
	sample_add_cpu(&totals, 1, "c", "orders2", 30, 0);
	sample_add_cpu(&totals, 1, "", NULL, 40, 0);
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(totals.groupings[0].group_count, 1);
	assert_int_equal(cpu_of("orders"), 10);
	assert_int_equal(totals.groupings[0].request_count, 1);
	assert_int_equal(totals.all.sums[COST_CPU], 10);
	assert_int_equal(totals.observed.sums[COST_CPU], 100);
	assert_int_equal(totals.unattributed.record_count, 0);
}

FIXTURE_TEST(filter_requires_pattern_and_all_conditions)
{
	begin("endpoint");
	want("endpoint~GET /*");
	want("tid=7");
	sample_add_cpu(&totals, 7, "a", "GET /a", 1, 0);
	sample_add_cpu(&totals, 7, "b", "POST /a", 2, 0);
	sample_add_cpu(&totals, 8, "c", "GET /b", 4, 0);
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(totals.all.sums[COST_CPU], 1);
	assert_int_equal(cpu_of("GET /a"), 1);
	assert_int_equal(cpu_of("GET /b"), -1);
}

/* As an endpoint that is known only when the request runs already. */
FIXTURE_TEST(filter_uses_value_from_any_record_of_request)
{
	static const char *const groupings[] = { "endpoint", "request_id", "pid" };

	for (size_t i = 0; i < sizeof(groupings) / sizeof(groupings[0]); i++) {
		begin(groupings[i]);
		want("endpoint=orders");
		sample_add_cpu(&totals, 1, "a", NULL, 1, 0);
		sample_add_cpu(&totals, 1, "b", NULL, 2, 0);
		sample_add_cpu(&totals, 1, "c", NULL, 4, 0);
		sample_add_cpu(&totals, 1, "a", "orders", 8, 0);
		sample_add_cpu(&totals, 1, "b", "cart", 16, 0);
		sample_add_cpu(&totals, 2, "a", NULL, 32, 0);
		sample_add_cpu(&totals, 2, "b", NULL, 64, 0);
		assert_int_equal(totals_finish(&totals), 0);
		assert_int_equal(totals.all.sums[COST_CPU], 41);
		assert_int_equal(totals.observed.sums[COST_CPU], 127);
		assert_int_equal(totals.groupings[0].request_count, 1);
		assert_int_equal(totals.groupings[0].without_value.record_count, 0);
		assert_int_equal(cpu_of(i == 0 ? "orders" : i == 1 ? "a" : "42"), 41);
	}
}

FIXTURE_TEST(filter_matches_time_without_request_by_process)
{
	struct sample sample;

	begin("tid");
	want("comm~pu*");
	want("host_name=web-1");
	want("pid=42");
	sample_add_record(&totals, "process pid=42 comm=puma");
	sample_add_cpu(&totals, 7, "", NULL, 10, 0);
	sample_begin_cpu(&sample, 43, 8, "", 20, 0);
	assert_int_equal(sample_add(&sample, &totals), 0);
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(totals.unattributed.sums[COST_CPU], 10);
	assert_int_equal(totals.groupings[0].group_count, 1);
}

FIXTURE_TEST(filter_skips_comparison_with_books)
{
	begin("endpoint");
	want("endpoint=orders");
	sample_add_cpu(&totals, 1, "a", "orders", 10, 0);
	sample_add_cpu(&totals, 1, "b", "cart", 20, 0);
	sample_add_balance(&totals, 30, 30, 0, 0);
	assert_int_equal(totals_finish(&totals), 0);
	assert_true(totals_match_books(&totals));
}

static void add_at(uint64_t second, const char *kind)
{
	static struct record_view view;
	struct sample sample;

	sample_record(&sample, "%s pid=42 request_id=a cpu_ns=%d", kind, 1 << second);
	sample_decode(&sample, &view);
	view.wall_ns = (1000 + second) * SECOND_NS;
	assert_int_equal(totals_add(&totals, &view), 0);
	msgpack_sbuffer_destroy(&sample.buffer);
}

static int64_t cpu_between(const char *since, const char *until)
{
	begin("request_id");
	if (since)
		assert_int_equal(filter_parse_time(since, &totals.selection.filter.since), 0);
	if (until)
		assert_int_equal(filter_parse_time(until, &totals.selection.filter.until), 0);
	add_at(0, "meta");
	for (uint64_t second = 1; second <= 4; second++)
		add_at(second, "cpu");
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(totals.selection.recording.meta_count, 1);
	return totals.all.sums[COST_CPU];
}

FIXTURE_TEST(filter_selects_windows_by_time_span)
{
	assert_int_equal(cpu_between(NULL, NULL), 2 + 4 + 8 + 16);
	assert_int_equal(cpu_between("2s", NULL), 8 + 16);
	assert_int_equal(cpu_between("1999ms", NULL), 4 + 8 + 16);
	assert_int_equal(cpu_between(NULL, "2s"), 2 + 4);
	assert_int_equal(cpu_between("1s", "3s"), 4 + 8);
	assert_int_equal(cpu_between("1970-01-01T00:16:42Z", NULL), 8 + 16);
	assert_int_equal(cpu_between("1970-01-01 00:16:41.999999999", NULL), 4 + 8 + 16);
	assert_int_equal(cpu_between("1970-01-01", "1970-01-01T00:16:43.5Z"), 2 + 4 + 8);
	assert_int_equal(cpu_between("1970-01-02", NULL), 0);
	assert_int_equal(cpu_between(NULL, "1970-01-01"), 0);
	assert_int_equal(cpu_between(NULL, "2024-02-29"), 2 + 4 + 8 + 16);
}

/* As tables have it. The first record is of 00:16:40, UTC. */
FIXTURE_TEST(filter_resolves_time_of_day_to_nearest_local_time)
{
	assert_int_equal(setenv("TZ", "UTC", true), 0);
	assert_int_equal(cpu_between("00:16:42", NULL), 8 + 16);
	assert_int_equal(cpu_between("00:16:41.999999999", "00:16:43.5"), 4 + 8);
	assert_int_equal(cpu_between("12:16:40", NULL), 0);
	/* Those of yesterday. */
	assert_int_equal(cpu_between("12:16:41", NULL), 2 + 4 + 8 + 16);
	assert_int_equal(setenv("TZ", "EAST-2", true), 0);
	assert_int_equal(cpu_between("02:16:42", NULL), 8 + 16);
	assert_int_equal(cpu_between("02:16:40", "02:16:42"), 2 + 4);
	/* There it is 23:16:40, and not midnight yet. */
	assert_int_equal(setenv("TZ", "WEST+1", true), 0);
	assert_int_equal(cpu_between(NULL, "00:00:00"), 2 + 4 + 8 + 16);
	assert_int_equal(cpu_between("00:00:00", NULL), 0);
	assert_int_equal(cpu_between(NULL, "11:16:39"), 2 + 4 + 8 + 16);
	assert_int_equal(unsetenv("TZ"), 0);
}

FIXTURE_TEST(filter_copy_is_independent_and_reports_enomem)
{
	struct filter filter = { .since = { true, 5, true, false },
				 .until = { true, 9, false, true } },
		      copy;
	size_t failures = 0;
	char text[256];

	assert_int_equal(filter_add(&filter, "endpoint=GET /"), 0);
	assert_int_equal(filter_add(&filter, "comm~p*"), 0);
	assert_each_allocation_can_fail(filter_copy(&filter, &copy), failures++);
	assert_true(failures > 1);
	filter_deinit(&filter);
	assert_int_equal(copy.condition_count, 2);
	filter_describe(&copy.conditions[0], text);
	assert_string_equal(text, "endpoint=GET /");
	filter_describe(&copy.conditions[1], text);
	assert_string_equal(text, "comm~p*");
	assert_int_equal(copy.since.ns, 5);
	assert_true(copy.since.is_relative);
	assert_int_equal(copy.until.ns, 9);
	assert_true(copy.until.is_of_day);
	filter_deinit(&copy);
}

FIXTURE_TEST(filter_rejects_invalid_conditions_and_times)
{
	static const char *const conditions[] = { "", "endpoint", "=x", "~x" };
	static const char *const times[] = { "",	   "soon",
					     "2026-13-01", "2026-11-22T10:15",
					     "-1s",	   "2026-11-22T10:15:00Zulu",
					     "1969-01-01", "2026-11-22X",
					     "10:15",	   "10:15:00Z",
					     "24:00:00",   "10:15:00.5s",
					     "2023-02-29", "2023-02-30" };
	struct filter_time time;

	begin("endpoint");
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
		assert_int_equal(filter_add(&totals.selection.filter, conditions[i]), -EINVAL);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (filter_parse_time(times[i], &time) != -EINVAL)
			fail_msg("'%s' is taken for a time", times[i]);
	for (int i = 0; i < FILTER_CONDITIONS_MAX; i++)
		want("a=b=c");
	assert_int_equal(filter_add(&totals.selection.filter, "a=b"), -E2BIG);
	assert_string_equal(totals.selection.filter.conditions[0].wanted, "b=c");
	totals_deinit(&totals);
	memory_fails_after(0);
	assert_int_equal(filter_add(&totals.selection.filter, "a=b"), -ENOMEM);
	memory_never_fails();
}

TEST(filter_copy_outlives_original)
{
	struct filter filter = { 0 }, copy = { 0 };
	char text[256];

	assert_int_equal(filter_add(&filter, "endpoint=a=b"), 0);
	assert_int_equal(filter_add(&filter, "tid~4*"), 0);
	assert_int_equal(filter_parse_time("10s", &filter.since), 0);
	assert_int_equal(filter_copy(&filter, &copy), 0);
	filter_deinit(&filter);
	assert_int_equal(copy.condition_count, 2);
	filter_describe(&copy.conditions[0], text);
	assert_string_equal(text, "endpoint=a=b");
	filter_describe(&copy.conditions[1], text);
	assert_string_equal(text, "tid~4*");
	assert_true(copy.since.is_relative);
	filter_deinit(&copy);
}
