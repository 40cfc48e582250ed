/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/aggregate/rows.h"
#include "reader/aggregate/sample_totals.h"
#include "reader/report/formats.h"

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

static int setup(void **state)
{
	const char *by = "request_id";

	(void)state;
	return totals_init(&totals, &by, 1);
}

/* The values of the groups, one after the other. */
static void expect_order(enum figure sort, const char *expected)
{
	char order[64] = "";
	struct rows rows;

	/* Requests are rows when they have ended. */
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], sort, 0), 0);
	for (size_t i = 0; i < rows.group_count; i++)
		(void)strncat(order, rows.groups[i]->value, rows.groups[i]->value_bytes);
	assert_string_equal(order, expected);
	rows_deinit(&rows);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(rows_sort_descending_with_ties_by_key_and_missing_last)
{
	sample_add_cpu(&totals, 1, "b", NULL, 10, 5);
	sample_add_cpu(&totals, 1, "a", NULL, 10, 5);
	sample_add_cpu(&totals, 1, "e", NULL, 0, 0);
	sample_add_cpu(&totals, 1, "c", NULL, 1, 90);
	sample_add_cpu(&totals, 1, "f", NULL, 2, 0);
	sample_add_cpu(&totals, 1, "g", NULL, 2, 0);
	sample_add_record(&totals, "cpu pid=42 request_id=d cpu_ns=50");
	expect_order(FIGURE_KEY, "abcdefg");
	expect_order(FIGURE_CPU, "cdabfge");
	expect_order(FIGURE_SHARE, "cdabfge");
	expect_order(FIGURE_CPU_PERCENT, "cdabfge");
	expect_order(FIGURE_MACHINE_PERCENT, "cdabfge");
	expect_order(FIGURE_USER, "abfgced");
	expect_order(FIGURE_KERNEL, "cabefgd");
}

static void add_costs(const char *request_id, const char *name, int64_t value)
{
	struct sample sample;

	sample_record(&sample, "cpu pid=42 request_id=%s %s=%ld", request_id, name, value);
	if (strcmp(name, "switches_voluntary") == 0)
		sample_fields(&sample, "switches_involuntary=%ld", value);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

FIXTURE_TEST(rows_sort_each_column_by_its_cost)
{
	static const struct {
		enum figure sort;
		const char *name, *option;
	} fields[] = {
		{ FIGURE_CPU, "cpu_ns", "cpu" },
		{ FIGURE_USER, "user_ns", "user" },
		{ FIGURE_KERNEL, "kernel_ns", "kernel" },
		{ FIGURE_RUN_QUEUE, "run_queue_ns", "run_queue" },
		{ FIGURE_BLOCKED, "blocked_ns", "blocked" },
		{ FIGURE_SLICES, "slices", "slices" },
		{ FIGURE_SWITCHES, "switches_voluntary", "switches" },
		{ FIGURE_AMBIGUOUS, "ambiguous_ns", "ambiguous" },
		{ FIGURE_MIGRATIONS, "migrations", "migrations" },
		{ FIGURE_STOLEN, "stolen_ns", "stolen" },
		{ FIGURE_SPLIT_ERROR, "split_error_ns", "split_error" },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		enum figure found;

		begin("request_id");
		add_costs("a", fields[i].name, 1);
		add_costs("b", fields[i].name, 2);
		expect_order(fields[i].sort, "ba");
		assert_int_equal(figure_find(fields[i].option, &found), 0);
		assert_int_equal(found, fields[i].sort);
		assert_string_equal(figure_infos[found].name, fields[i].option);
	}
}

static void add_span(const char *request_id, const char *endpoint, int64_t wall_ns, int64_t cpu_ns)
{
	struct sample sample;

	sample_record(&sample, "cpu pid=42 request_id=%s", request_id);
	if (endpoint)
		sample_fields(&sample, "endpoint=%s", endpoint);
	sample_fields(&sample, "cpu_ns=%ld first_ns=100 last_ns=%ld", cpu_ns, 100 + wall_ns);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

/* Those shown, and the sums of the rest. */
static void expect_slowest(enum figure sort, size_t top_count, const char *expected,
			   int64_t hidden_cpu_ns)
{
	char shown[64] = "";
	struct rows rows;

	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], sort, top_count), 0);
	for (size_t i = 0; i < rows.group_count; i++)
		(void)strncat(shown, rows.groups[i]->value, rows.groups[i]->value_bytes);
	assert_string_equal(shown, expected);
	assert_int_equal(rows.hidden.sums[COST_CPU], hidden_cpu_ns);
	assert_int_equal(rows.hidden_count + rows.group_count, totals.groupings[0].group_count);
	rows_deinit(&rows);
}

/* Only requests above that percentile of their endpoint are shown. */
static void begin_requests_above(double percent)
{
	const char *by[] = { "request_id", "endpoint" };

	totals_deinit(&totals);
	assert_int_equal(totals_init(&totals, by, 2), 0);
	totals.groupings[0].above_percent = percent;
}

FIXTURE_TEST(rows_above_percentile_compare_within_endpoint)
{
	begin_requests_above(50);
	add_span("a", "x", 10, 60);
	add_span("b", "x", 20, 40);
	add_span("c", "x", 30, 20);
	add_span("d", "y", 1, 1);
	add_span("e", "y", 2, 2);
	add_span("f", NULL, 50, 5);
	add_span("g", NULL, 60, 4);
	assert_int_equal(totals_finish(&totals), 0);
	expect_slowest(FIGURE_WALL, 0, "gce", 106);
	expect_slowest(FIGURE_WALL, 2, "gc", 108);
	expect_slowest(FIGURE_CPU, 0, "afe", 65);
	expect_slowest(FIGURE_CPU_P99, 0, "afe", 65);
	totals.groupings[0].above_percent = 99;
	expect_slowest(FIGURE_WALL, 0, "", 132);
}

FIXTURE_TEST(rows_above_percentile_separate_values_of_one_bucket)
{
	begin_requests_above(50);
	add_span("a", "x", 1025, 1);
	add_span("b", "x", 1033, 2);
	add_span("c", "x", 1034, 4);
	assert_int_equal(totals_finish(&totals), 0);
	expect_slowest(FIGURE_WALL, 0, "c", 3);
}

FIXTURE_TEST(rows_report_start_time_of_request_only)
{
	struct rows rows;
	struct row row;
	int64_t began = -1;

	add_span("a", "x", 10, 60);
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_CPU, 0), 0);
	row = rows_at(&rows, 0);
	assert_true(rows_number(&rows, &row, FIGURE_BEGAN, &began));
	assert_int_equal(began, 100);
	row = rows_at(&rows, rows_find_kind(&rows, ROW_KIND_TOTAL));
	assert_false(rows_number(&rows, &row, FIGURE_BEGAN, &began));
	rows_deinit(&rows);
}

FIXTURE_TEST(rows_break_ties_by_remaining_keys)
{
	static const char *const parts[][2] = {
		{ "b", "x" }, { "a", "z" }, { "c", "x" }, { "a", "y" }, { "b", "w" },
	};
	static const char *const by_first[] = { "a:y", "a:z", "b:w", "b:x", "c:x" };
	static const char *const by_second[] = { "b:w", "b:x", "c:x", "a:y", "a:z" };

	begin("endpoint,tenant");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		sample_add_record(&totals, "cpu pid=42 endpoint=%s tenant=%s cpu_ns=1", parts[i][0],
				  parts[i][1]);
	for (size_t part = 0; part < 2; part++) {
		struct rows rows;

		assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0],
					   part == 0 ? FIGURE_KEY : FIGURE_KEY_2, 0),
				 0);
		for (size_t i = 0; i < rows.group_count; i++) {
			struct record_text first = grouping_part(rows.groups[i], 0, false);
			struct record_text second = grouping_part(rows.groups[i], 1, false);
			const char *expected = part == 0 ? by_first[i] : by_second[i];

			assert_memory_equal(first.bytes, expected, 1);
			assert_memory_equal(second.bytes, expected + 2, 1);
		}
		rows_deinit(&rows);
	}
}

FIXTURE_TEST(rows_sort_key_before_its_extensions)
{
	sample_add_cpu(&totals, 1, "ab", NULL, 1, 0);
	sample_add_cpu(&totals, 1, "a", NULL, 1, 0);
	sample_add_cpu(&totals, 1, "abc", NULL, 1, 0);
	sample_add_cpu(&totals, 1, "B", NULL, 1, 0);
	expect_order(FIGURE_KEY, "Baababc");
}

FIXTURE_TEST(figure_lookup_rejects_unknown_column)
{
	enum figure field = FIGURE_STOLEN;
	enum cost cost = COST_STOLEN;

	assert_int_equal(figure_find("colour", &field), -EINVAL);
	assert_int_equal(field, FIGURE_STOLEN);
	assert_int_equal(figure_find("key", &field), 0);
	assert_int_equal(field, FIGURE_KEY);
	assert_false(figure_cost(FIGURE_SHARE, &cost));
	assert_int_equal(cost, COST_STOLEN);
	assert_true(figure_cost(FIGURE_CPU, &cost));
	assert_int_equal(cost, COST_CPU);
}

FIXTURE_TEST(rows_sort_endpoints_by_request_count)
{
	begin("endpoint");
	sample_add_cpu(&totals, 1, "", "n", 9, 0);
	sample_add_cpu(&totals, 1, "r1", "o", 5, 0);
	sample_add_cpu(&totals, 1, "r2", "t", 1, 0);
	sample_add_cpu(&totals, 1, "r3", "t", 1, 0);
	assert_int_equal(totals_finish(&totals), 0);
	expect_order(FIGURE_REQUESTS, "ton");
}

/* A request of so much CPU and, from 1,000 on, wall time; with two system calls. */
static void add_whole_request(const char *request_id, const char *endpoint, int64_t cpu_ns,
			      int64_t wall_ns)
{
	const int64_t waited_ns = wall_ns >= 0 ? wall_ns / 20 : 0;
	struct sample sample;

	sample_record(&sample,
		      "cpu pid=42 request_id=\"%s\" endpoint=\"%s\" cpu_ns=%ld "
		      "window_ns=500000000 syscalls=2 run_queue_ns=%ld blocked_ns=%ld "
		      "stolen_ns=%ld",
		      request_id, endpoint, cpu_ns, waited_ns, waited_ns, waited_ns);
	if (wall_ns >= 0)
		sample_fields(&sample, "first_ns=1000 last_ns=%ld", 1000 + wall_ns);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

static int64_t number_of(const struct rows *rows, size_t index, enum figure field)
{
	struct row row = rows_at(rows, index);
	int64_t number = -1;

	return rows_number(rows, &row, field, &number) ? number : -1;
}

FIXTURE_TEST(rows_compute_figures_for_groups_hidden_and_total)
{
	static const struct {
		enum figure field;
		int64_t busy, hidden, all;
	} cases[] = {
		{ FIGURE_REQUESTS, 4, 3, 7 },
		{ FIGURE_RATE, 8L * ROWS_PARTS, 6L * ROWS_PARTS, 14L * ROWS_PARTS },
		{ FIGURE_CPU_MEAN, 25, 6, 16 },
		{ FIGURE_CPU_P50, 20, 6, 10 },
		{ FIGURE_CPU_P90, 40, 7, 40 },
		{ FIGURE_CPU_P99, 40, 7, 40 },
		{ FIGURE_CPU_MAX, 40, 7, 40 },
		{ FIGURE_WALL_MEAN, 50, 2, 29 },
		{ FIGURE_WALL_P50, 40, 2, 20 },
		{ FIGURE_WALL_P90, 80, 3, 80 },
		{ FIGURE_WALL_P99, 80, 3, 80 },
		{ FIGURE_WALL_MAX, 80, 3, 80 },
		{ FIGURE_PARKED_MEAN, 17, 0, 10 },
		{ FIGURE_PARKED_P50, 14, 0, 7 },
		{ FIGURE_PARKED_MAX, 28, 0, 28 },
		{ FIGURE_WALL, -1, -1, -1 },
		{ FIGURE_PARKED, -1, -1, -1 },
		{ FIGURE_SYSCALLS, 8, 6, 14 },
		{ FIGURE_SYSCALLS_MEAN, 2L * ROWS_PARTS, 2L * ROWS_PARTS, 2L * ROWS_PARTS },
		{ FIGURE_ENDPOINT, -1, -1, -1 },
	};
	struct rows rows;

	begin("endpoint");
	for (int i = 1; i <= 4; i++)
		add_whole_request((char[]){ (char)('a' + i), 0 }, "busy", 10 * i, 20 * i);
	add_whole_request("x", "calm", 5, 1);
	add_whole_request("y", "calm", 7, 3);
	add_whole_request("z", "idle", 6, 2);
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_CPU, 1), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum figure field = cases[i].field;

		assert_int_equal(number_of(&rows, 0, field), cases[i].busy);
		assert_int_equal(number_of(&rows, rows_find_kind(&rows, ROW_KIND_HIDDEN), field),
				 cases[i].hidden);
		assert_int_equal(number_of(&rows, rows_count(&rows) - 1, field), cases[i].all);
	}
	assert_int_equal(
		number_of(&rows, rows_find_kind(&rows, ROW_KIND_UNATTRIBUTED), FIGURE_CPU_P50), -1);
	rows_deinit(&rows);
}

/* A percentile of the others would be one of other requests. */
FIXTURE_TEST(rows_omit_figures_with_unmeasured_request)
{
	struct rows rows;

	begin("endpoint");
	add_whole_request("a", "busy", 10, 20);
	add_whole_request("b", "busy", 10, -1);
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_CPU, 0), 0);
	assert_int_equal(number_of(&rows, 0, FIGURE_CPU_P50), 10);
	assert_int_equal(number_of(&rows, 0, FIGURE_WALL_P50), -1);
	rows_deinit(&rows);
}

/* Those that may still grow stay, whatever they are now. */
FIXTURE_TEST(rows_fold_sums_requests_below_top_rows)
{
	const int count = REQUESTS_OPEN_MAX + 2 * ROWS_FOLD_AT;
	int64_t all_ns = 0, hidden_ns;
	struct rows rows;
	char id[32];
	size_t last;

	begin("request_id");
	for (int i = 0; i < count; i++) {
		int64_t cpu_ns = i % 1000;

		(void)snprintf(id, sizeof(id), "r-%d", i);
		/* Two of the first and one of the last. */
		if (i == 7 || i == 8 || i == count - 1)
			cpu_ns = 1000000 + i;
		add_whole_request(id, "busy", cpu_ns, 1);
		all_ns += cpu_ns;
		assert_int_equal(rows_fold(&totals, &totals.groupings[0], FIGURE_CPU, 3), 0);
		assert_true(totals.groupings[0].group_count <= ROWS_FOLD_AT);
	}
	assert_int_equal(totals_finish(&totals), 0);
	assert_true(totals.groupings[0].group_count < ROWS_FOLD_AT);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_CPU, 3), 0);
	assert_int_equal(number_of(&rows, 0, FIGURE_CPU), 1000000 + count - 1);
	assert_int_equal(number_of(&rows, 1, FIGURE_CPU), 1000008);
	assert_int_equal(number_of(&rows, 2, FIGURE_CPU), 1000007);
	assert_int_equal(rows.hidden_count, count - 3);
	hidden_ns = all_ns - 3 * 1000000 - 7 - 8 - (count - 1);
	assert_int_equal(rows.hidden.sums[COST_CPU], hidden_ns);
	last = rows_count(&rows) - 1;
	assert_int_equal(number_of(&rows, last, FIGURE_CPU), all_ns);
	assert_int_equal(number_of(&rows, last, FIGURE_REQUESTS), count);
	rows_deinit(&rows);
}

static struct group *end_request(const char *id, int64_t ns, const char *endpoint)
{
	const struct costs costs = { .sums = { [COST_CPU] = ns, [COST_USER] = 1000 - ns },
				     .record_count = 1,
				     .last_ns = ns };
	struct group *group = NULL;

	assert_int_equal(grouping_settle_request(&totals.groupings[0],
						 (struct record_text){ id, strlen(id) }, &costs,
						 (struct record_text){ endpoint, strlen(endpoint) },
						 &group),
			 0);
	return group;
}

/* One of 700, and as many of 5 as make them too many, of which top_count are left. */
static void fold_many(enum figure field, size_t top_count)
{
	char id[32];

	begin("request_id");
	for (int i = 0; i <= ROWS_FOLD_AT; i++) {
		(void)snprintf(id, sizeof(id), "r-%d", i);
		(void)end_request(id, i == 5 ? 700 : 5, "busy");
	}
	assert_int_equal(rows_fold(&totals, &totals.groupings[0], field, top_count), 0);
	assert_int_equal(totals.groupings[0].group_count, top_count);
}

/* What is equal is shown by its id. */
FIXTURE_TEST(rows_fold_keeps_only_requests_at_or_above_limit)
{
	static const enum figure fields[] = { FIGURE_CPU, FIGURE_WALL, FIGURE_WALL_P99,
					      FIGURE_SHARE };
	const struct grouping *grouping = &totals.groupings[0];

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		fold_many(fields[i], 1);
		assert_null(end_request("below", 699, "busy"));
		assert_non_null(end_request("equal", 700, ""));
		assert_string_equal(end_request("above", 701, "idle")->names[GROUP_NAME_ENDPOINT],
				    "idle");
		/* More of one that is a row, though it alone is below. */
		assert_int_equal(end_request("r-5", 2, "late")->costs.sums[COST_CPU], 702);
		assert_int_equal(end_request("r-5", 1, "")->costs.record_count, 3);
		assert_string_equal(end_request("r-5", 0, "")->names[GROUP_NAME_ENDPOINT], "late");
		assert_int_equal(grouping->group_count, 3);
		assert_int_equal(grouping->folded_count, ROWS_FOLD_AT + 1);
		assert_int_equal(grouping->folded.sums[COST_CPU], 5 * ROWS_FOLD_AT + 699);
		assert_int_equal(grouping->request_count, ROWS_FOLD_AT + 4);
		assert_int_equal(grouping->requests.costs[REQUEST_CPU].count, ROWS_FOLD_AT + 4);
	}
}

/* Another cost than the CPU; a text; and fewer rows than are shown. */
FIXTURE_TEST(rows_fold_limit_follows_sort_figure)
{
	const struct costs not_measured = { .missing = UINT32_MAX, .record_count = 1 };
	struct group *group = NULL;

	fold_many(FIGURE_USER, 2);
	assert_null(end_request("below", 6, ""));
	assert_non_null(end_request("above", 4, ""));
	assert_int_equal(grouping_settle_request(&totals.groupings[0],
						 (struct record_text){ "none", 4 }, &not_measured,
						 (struct record_text){ 0 }, &group),
			 0);
	assert_null(group);
	fold_many(FIGURE_ENDPOINT, 2);
	assert_non_null(end_request("z", 0, "z"));
	fold_many(FIGURE_CPU, ROWS_FOLD_AT + 1);
	assert_int_equal(rows_fold(&totals, &totals.groupings[0], FIGURE_CPU, SIZE_MAX), 0);
	assert_int_equal(totals.groupings[0].group_count, ROWS_FOLD_AT + 1);
	assert_non_null(end_request("equal", 5, ""));
}

static const struct group *find_value(const char *value)
{
	for (const struct group *group = totals.groupings[0].groups; group; group = group->hh.next)
		if (record_text_is(grouping_label(group, false), value))
			return group;
	return NULL;
}

/* What an open request has is the least of all, and stays; "again" is given up, and comes again. */
static void expect_said_in_json(const char *says)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_int_equal(print_json(&totals, &(struct view_options){ .sort = FIGURE_CPU }, file),
			 0);
	assert_int_equal(fclose(file), 0);
	assert_non_null(strstr(text, says));
	free(text);
}

FIXTURE_TEST(rows_fold_bounds_memory_and_preserves_sums)
{
	enum {
		OPEN = 10,
		COUNT = ROWS_FOLD_AT + 2 * OPEN
	};
	const struct grouping *grouping = &totals.groupings[0];
	size_t most_groups = 0, hidden;
	int64_t all_ns = 0;
	struct rows rows;
	char id[32], endpoint[32];

	begin("endpoint");
	add_whole_request("again", "again", 3, 1);
	for (int i = 0; i < COUNT; i++) {
		int64_t cpu_ns = i == 5 ? 5000 : 4 + i % 90;

		(void)snprintf(id, sizeof(id), "r-%d", i);
		(void)snprintf(endpoint, sizeof(endpoint), "e-%d", i);
		add_whole_request("held", "held", 0, 1);
		add_whole_request(id, endpoint, cpu_ns, 1);
		all_ns += cpu_ns;
		assert_int_equal(totals_settle(&totals, OPEN), 0);
		assert_int_equal(rows_fold(&totals, &totals.groupings[0], FIGURE_CPU, 2), 0);
		if (grouping->group_count > most_groups)
			most_groups = grouping->group_count;
	}
	assert_in_range(most_groups, ROWS_FOLD_AT, ROWS_FOLD_AT + OPEN);
	assert_in_range(grouping->group_count, ROWS_KEPT_MIN, ROWS_KEPT_MIN + 3 * OPEN);
	assert_null(find_value("again"));
	assert_int_equal(find_value("held")->costs.record_count, COUNT);
	/* What it lacks is no more than any that was given up had used. */
	assert_in_range(grouping->lacking_cpu_ns, 3, 93);
	add_whole_request("more", "again", 2, 1);
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(grouping->open_count, 0);
	assert_int_equal(find_value("again")->costs.sums[COST_CPU], 2);
	expect_said_in_json("\"lacking_cpu_ns\":");
	assert_int_equal(rows_init(&rows, &totals, grouping, FIGURE_CPU, 1), 0);
	assert_int_equal(number_of(&rows, 0, FIGURE_CPU), 5000);
	hidden = rows_find_kind(&rows, ROW_KIND_HIDDEN);
	assert_int_equal(rows.hidden_count, COUNT + 2);
	assert_int_equal(number_of(&rows, hidden, FIGURE_CPU), all_ns + 3 + 2 - 5000);
	assert_int_equal(number_of(&rows, hidden, FIGURE_REQUESTS), COUNT + 2);
	assert_int_equal(number_of(&rows, hidden, FIGURE_CPU_MAX), 93);
	assert_int_equal(number_of(&rows, rows_count(&rows) - 1, FIGURE_CPU), all_ns + 3 + 2);
	assert_int_equal(number_of(&rows, rows_count(&rows) - 1, FIGURE_REQUESTS), COUNT + 3);
	rows_deinit(&rows);
}

FIXTURE_TEST(rows_give_request_wall_time_but_no_percentiles)
{
	struct rows rows;

	begin("request_id");
	add_whole_request("a", "busy", 10, 20);
	add_whole_request("b", "busy", 10, 30);
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_WALL, 0), 0);
	assert_int_equal(number_of(&rows, 0, FIGURE_WALL), 30);
	assert_int_equal(number_of(&rows, 1, FIGURE_WALL), 20);
	assert_int_equal(number_of(&rows, 0, FIGURE_CPU_P50), -1);
	assert_int_equal(number_of(&rows, 0, FIGURE_RATE), -1);
	assert_int_equal(number_of(&rows, rows_count(&rows) - 1, FIGURE_WALL), -1);
	assert_int_equal(number_of(&rows, rows_count(&rows) - 1, FIGURE_CPU_MAX), 10);
	rows_deinit(&rows);
	add_whole_request("c", "busy", 30, 5);
	expect_order(FIGURE_WALL_P99, "bac");
	expect_order(FIGURE_CPU_MEAN, "cab");
}

static void add_thread(int64_t tid, const char *name)
{
	struct sample sample;

	sample_record(&sample, "cpu pid=42 tid=%ld cpu_ns=1", tid);
	if (name)
		sample_fields(&sample, "thread_name=%s", name);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

FIXTURE_TEST(rows_sort_names_ascending_with_unknown_last)
{
	struct sample sample;

	begin("tid");
	add_thread(1, NULL);
	add_thread(2, "b");
	add_thread(4, "a");
	add_thread(3, "a");
	add_thread(5, NULL);
	expect_order(FIGURE_THREAD_NAME, "web-1:42/3web-1:42/4web-1:42/2web-1:42/1web-1:42/5");
	begin("pid");
	sample_add_record(&totals, "process pid=7 comm=puma");
	for (int64_t pid = 7; pid <= 42; pid += 35) {
		sample_begin_cpu(&sample, pid, 1, "", 1, 0);
		assert_int_equal(sample_add(&sample, &totals), 0);
	}
	expect_order(FIGURE_COMM, "web-1:7web-1:42");
	expect_order(FIGURE_THREAD_NAME, "web-1:42web-1:7");
}

FIXTURE_TEST(rows_shown_and_hidden_add_up_to_total)
{
	const enum row_kind others[] = { ROW_KIND_HIDDEN, ROW_KIND_WITHOUT_KEY,
					 ROW_KIND_UNATTRIBUTED, ROW_KIND_OVERFLOW, ROW_KIND_TOTAL };
	struct costs sum = { 0 };
	struct rows rows;
	size_t count;

	for (int i = 0; i < 26; i++)
		sample_add_cpu(&totals, 1, (char[]){ (char)('a' + i), '\0' }, NULL, i, 2 * i);
	sample_add_cpu(&totals, 1, "", NULL, 1000, 1);
	sample_add_cpu(&totals, 1, "", "cart", 500, 1);
	sample_add_cpu_with(&totals, 0, "", 7, 0, "flags=[overflow]");
	totals_finish(&totals);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_CPU, 3), 0);
	count = rows_count(&rows);
	assert_int_equal(count, 3 + 5);
	assert_int_equal(rows.hidden_count, 23);
	for (size_t i = 0; i + 1 < count; i++)
		costs_add(&sum, rows_at(&rows, i).costs);
	for (size_t i = 0; i < count; i++) {
		struct row row = rows_at(&rows, i);

		assert_int_equal(row.kind, i < 3 ? ROW_KIND_GROUP : others[i - 3]);
		assert_int_equal(row.request_count, i < 3 ? 1 : (i == count - 1 ? 26 : 0));
		assert_true(i >= 3 || row.group == rows.groups[i]);
		if (i >= 3)
			assert_int_equal(!!row.requests, row.kind == ROW_KIND_WITHOUT_KEY ||
								 row.kind == ROW_KIND_TOTAL);
		assert_int_equal(rows_find_kind(&rows, row.kind), i < 3 ? 0 : i);
	}
	assert_memory_equal(sum.sums, rows_at(&rows, count - 1).costs->sums, sizeof(sum.sums));
	rows_deinit(&rows);
}

FIXTURE_TEST(rows_show_first_hides_remaining_rows)
{
	struct rows rows;

	for (int i = 0; i < 5; i++)
		sample_add_cpu(&totals, 1, (char[]){ (char)('a' + i), '\0' }, NULL, 1 << i, 0);
	totals_finish(&totals);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_CPU, 0), 0);
	assert_int_equal(rows_show_first(&rows, 5), 0);
	assert_int_equal(rows_count(&rows), 5 + 2);
	for (size_t left = 3; left > 0; left--) {
		assert_int_equal(rows_show_first(&rows, left), 0);
		assert_int_equal(rows_count(&rows), left + 3);
		assert_int_equal(rows_at(&rows, left).kind, ROW_KIND_HIDDEN);
		assert_int_equal(rows_at(&rows, left).costs->sums[COST_CPU], (32 >> left) - 1);
	}
	rows_deinit(&rows);
}

/* What there is no time in is not shown, but for what ran in no context. */
FIXTURE_TEST(rows_omit_hidden_row_if_all_fit)
{
	struct rows rows;

	sample_add_cpu(&totals, 1, "a", NULL, 1, 0);
	sample_add_cpu(&totals, 1, "b", NULL, 2, 0);
	totals_finish(&totals);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_CPU, 2), 0);
	assert_int_equal(rows.group_count, 2);
	assert_int_equal(rows_count(&rows), 2 + 2);
	assert_int_equal(rows_at(&rows, 2).kind, ROW_KIND_UNATTRIBUTED);
	assert_int_equal(rows_find_kind(&rows, ROW_KIND_HIDDEN), rows_count(&rows));
	rows_deinit(&rows);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_CPU, 1), 0);
	assert_int_equal(rows.hidden_count, 1);
	rows_deinit(&rows);
}

/* There time in no context is in the rows. */
FIXTURE_TEST(rows_by_process_omit_overflow_and_unattributed)
{
	struct rows rows;

	begin("pid");
	sample_add_cpu_with(&totals, 0, "", 7, 0, "flags=[overflow]");
	totals_finish(&totals);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_CPU, 0), 0);
	assert_int_equal(rows_count(&rows), 2);
	assert_int_equal(rows_at(&rows, 1).kind, ROW_KIND_TOTAL);
	rows_deinit(&rows);
}

static bool does_error_matter(int64_t cpu_ns, int64_t split_error_ns)
{
	struct sample sample;
	struct rows rows;
	bool does_matter;

	begin("request_id");
	sample_record(&sample, "cpu pid=42 request_id=a");
	if (cpu_ns >= 0)
		sample_fields(&sample, "cpu_ns=%ld", cpu_ns);
	if (split_error_ns >= 0)
		sample_fields(&sample, "split_error_ns=%ld", split_error_ns);
	assert_int_equal(sample_add(&sample, &totals), 0);
	totals_finish(&totals);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_CPU, 0), 0);
	does_matter = rows_tell(&rows, FIGURE_SPLIT_ERROR);
	rows_deinit(&rows);
	return does_matter;
}

FIXTURE_TEST(rows_report_split_error_above_five_percent)
{
	assert_false(does_error_matter(10000, 500));
	assert_true(does_error_matter(10000, 501));
	assert_false(does_error_matter(10000, -1));
	assert_false(does_error_matter(-1, 501));
}

FIXTURE_TEST(rows_return_enomem_without_memory)
{
	struct rows rows;

	memory_fails_after(0);
	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_CPU, 0), -ENOMEM);
	memory_never_fails();
}
