/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/aggregate/sample_totals.h"
#include "reader/report/formats.h"
#include "record/golden.h"

enum {
	TRIALS = 200,
	REQUESTS = 400,
};

static struct totals before, after;
static struct diff diff;
static const char *const by = "endpoint";

static int setup(void **state)
{
	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return -1;
	return totals_init(&before, &by, 1) < 0 ? -1 : totals_init(&after, &by, 1);
}

static int teardown(void **state)
{
	(void)state;
	diff_deinit(&diff);
	totals_deinit(&before);
	totals_deinit(&after);
	return 0;
}

static void begin(void)
{
	(void)teardown(NULL);
	assert_int_equal(setup(NULL), 0);
}

/* A request from its first activity to its last; endpoint: as in double quotes of a line. */
static void add(struct totals *totals, const char *endpoint, int64_t cpu_ns, int64_t wall_ns)
{
	static int number;

	sample_add_record(totals,
			  "cpu pid=42 request_id=\"%d\" endpoint=\"%s\" cpu_ns=%ld first_ns=1000 "
			  "last_ns=%ld",
			  ++number, endpoint, cpu_ns, 1000 + wall_ns);
}

static void compare(void)
{
	assert_int_equal(totals_finish(&before), 0);
	assert_int_equal(totals_finish(&after), 0);
	assert_int_equal(diff_init(&diff, &before, &after), 0);
}

static const struct diff_row *find(const char *key)
{
	for (size_t i = 0; i + 1 < diff.row_count; i++) {
		const struct diff_row *row = &diff.rows[i];
		const struct group *group =
			row->before.group ? row->before.group : row->after.group;

		if (record_text_is(grouping_label(group, false), key))
			return row;
	}
	fail_msg("no row of %s", key);
	return NULL;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(diff_pairs_each_endpoint_with_itself)
{
	const struct diff_row *row;

	add(&before, "a", 10, 1);
	add(&before, "b", 20, 2);
	add(&before, "b", 30, 4);
	add(&before, "d", 5, 1);
	add(&after, "b", 50, 9);
	add(&after, "c", 70, 7);
	compare();
	assert_int_equal(diff.row_count, 5);
	row = find("b");
	assert_int_equal(row->before.request_count, 2);
	assert_int_equal(row->after.request_count, 1);
	assert_int_equal(row->before.costs->sums[COST_CPU], 50);
	assert_true(row->figures[DIFF_CPU_MEAN].is_known);
	assert_int_equal(row->figures[DIFF_CPU_MEAN].before_ns, 25);
	assert_int_equal(row->figures[DIFF_CPU_MEAN].after_ns, 50);
	assert_int_equal(row->figures[DIFF_CPU_P99].before_ns, 30);
	assert_int_equal(row->figures[DIFF_WALL_MEAN].before_ns, 3);
	assert_int_equal(row->figures[DIFF_WALL_P99].before_ns, 4);
	assert_int_equal(row->figures[DIFF_WALL_P99].after_ns, 9);
	assert_false(row->figures[DIFF_CPU_MEAN].is_tested);
	assert_null(find("a")->after.costs);
	assert_null(find("c")->before.group);
	assert_false(find("c")->figures[DIFF_CPU_MEAN].is_known);
	/* By CPU: b 100, c 70, a 10, d 5; and all. */
	assert_ptr_equal(find("b"), &diff.rows[0]);
	assert_ptr_equal(find("c"), &diff.rows[1]);
	assert_ptr_equal(find("a"), &diff.rows[2]);
	assert_ptr_equal(find("d"), &diff.rows[3]);
	row = &diff.rows[4];
	assert_null(row->before.group);
	assert_int_equal(row->before.request_count, 4);
	assert_int_equal(row->after.request_count, 2);
	assert_int_equal(row->figures[DIFF_CPU_MEAN].before_ns, 16);
	assert_int_equal(diff.tested_count, 0);
	assert_int_equal(diff.changed_count, 0);
}

FIXTURE_TEST(diff_lists_changed_endpoint_first)
{
	const struct diff_row *row;

	for (int i = 0; i < 20; i++) {
		add(&before, "much", 1000 + i, 100 + i);
		add(&after, "much", 1000 + i, 100 + i);
		add(&before, "less", 20 + i, 100 + i);
		add(&after, "less", 1 + i, 100 + i);
	}
	compare();
	row = &diff.rows[0];
	assert_ptr_equal(row, find("less"));
	assert_true(row->figures[DIFF_CPU_MEAN].is_tested);
	assert_true(diff_has_changed(&row->figures[DIFF_CPU_MEAN]));
	assert_true(row->figures[DIFF_CPU_MEAN].difference.value == -19);
	assert_true(row->figures[DIFF_CPU_MEAN].corrected >=
		    row->figures[DIFF_CPU_MEAN].difference.probability * 5);
	assert_false(diff_has_changed(&row->figures[DIFF_WALL_MEAN]));
	assert_false(row->figures[DIFF_CPU_P99].is_tested);
	assert_false(diff_has_changed(&find("much")->figures[DIFF_CPU_MEAN]));
	/* Two means of each, and of all. */
	assert_int_equal(diff.tested_count, 6);
	assert_int_equal(diff.changed_count, 1);
	assert_string_equal(diff_info(DIFF_CPU_MEAN)->name, "cpu_mean");
	assert_string_equal(diff_info(DIFF_WALL_P99)->name, "wall_p99");
}

/* Uniform, above 0 and below 1. */
static double draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return ((double)(*seed >> 11) + 0.5) / 9007199254740992.0;
}

static double draw_factor(uint64_t *seed)
{
	return exp(0.5 * sqrt(-2 * log(draw(seed))) * cos(2 * M_PI * draw(seed)));
}

static void put(struct distribution *requests, enum request_cost figure, int64_t value)
{
	assert_int_equal(histogram_add(&requests->costs[figure], value), 0);
}

/* Requests of both endpoints, whose wall time is mostly that of their CPU: figures depend on each
 * other, as they do. Straight into the histograms, which takes no time. */
static void draw_requests(struct totals *totals, uint64_t *seed, double cpu_factor)
{
	struct grouping *grouping = &totals->groupings[0];

	add(totals, "a", 1000000, 2000000);
	add(totals, "b", 1000000, 2000000);
	assert_int_equal(totals_finish(totals), 0);
	for (struct group *group = grouping->groups; group; group = group->hh.next) {
		for (int i = 1; i < REQUESTS; i++) {
			double cpu = 1e6 * draw_factor(seed), wait = 1e6 * draw_factor(seed);

			group->request_count++;
			grouping->request_count++;
			put(group->requests, REQUEST_CPU, (int64_t)(cpu * cpu_factor));
			put(&grouping->requests, REQUEST_CPU, (int64_t)(cpu * cpu_factor));
			put(group->requests, REQUEST_WALL, (int64_t)(cpu + wait));
			put(&grouping->requests, REQUEST_WALL, (int64_t)(cpu + wait));
		}
	}
}

/* In how many trials something is said to have changed, and in how many CPU alone, up. */
static void count_changes(double cpu_factor, int *ret_any, int *ret_cpu)
{
	uint64_t seed = 20261122;

	*ret_any = *ret_cpu = 0;
	for (int i = 0; i < TRIALS; i++) {
		bool is_cpu = true;

		begin();
		draw_requests(&before, &seed, 1);
		draw_requests(&after, &seed, cpu_factor);
		compare();
		assert_int_equal(diff.tested_count, 12);
		for (size_t row = 0; row < diff.row_count; row++) {
			const struct diff_figure *figures = diff.rows[row].figures;

			is_cpu &= diff_has_changed(&figures[DIFF_CPU_MEAN]) &&
				  figures[DIFF_CPU_MEAN].difference.value > 0 &&
				  !diff_has_changed(&figures[DIFF_WALL_MEAN]) &&
				  !diff_has_changed(&figures[DIFF_WALL_P99]);
		}
		*ret_any += diff.changed_count > 0;
		*ret_cpu += is_cpu;
	}
	print_message("factor %g: %d of %d changed, CPU up in %d\n", cpu_factor, *ret_any, TRIALS,
		      *ret_cpu);
}

/* At most 5 % of 200, and by chance up to 19 (three standard deviations); none at all would be no
 * test. */
FIXTURE_TEST(diff_of_equal_recordings_rarely_finds_change)
{
	int any, cpu;

	count_changes(1, &any, &cpu);
	assert_true(any >= 1 && any <= 19);
	assert_int_equal(cpu, 0);
}

FIXTURE_TEST(diff_detects_a_fifth_more_cpu)
{
	int any, cpu;

	count_changes(1.2, &any, &cpu);
	assert_int_equal(any, TRIALS);
	assert_true(cpu >= TRIALS * 90 / 100);
}

static char *print(int (*format)(const struct diff *, const struct view_options *, FILE *),
		   size_t top_count, size_t width)
{
	static const struct input_file files[] = {
		{ .name = "monday.rec", .entry_count = 12 },
		{ .name = "tuesday\033.rec",
		  .entry_count = 34,
		  .damaged_places = 1,
		  .damaged_bytes = 5 },
	};
	const struct view_options options = {
		.top_count = top_count, .width = width, .files = files, .file_count = 2
	};
	size_t size_bytes = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size_bytes);

	assert_non_null(out);
	assert_int_equal(format(&diff, &options, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect_in(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

FIXTURE_TEST(diff_report_shows_change_and_interval)
{
	char *text;

	for (int i = 0; i < 500; i++) {
		add(&before, "GET /\033", 100000 + i, 100000 + 7 * i);
		add(&after, "GET /\033", 120000 + i, 100000 + 7 * i);
	}
	add(&before, "old", 5, 5);
	add(&after, "new", 5, 5);
	compare();
	text = print(diff_text_print, 0, 120);
	expect_in(text, "before  monday.rec: 501 requests in");
	expect_in(text, "after   tuesday\\x1b.rec: 501 requests in");
	expect_in(text, "DAMAGED: not all of it");
	expect_in(text, "GET /\\x1b     500 → 500  cpu mean   100.2 us  120.2 us  +20.0 %  "
			"+19.9 to +20.0 %  MORE");
	expect_in(text, "wall mean  101.7 us  101.7 us   +0.0 %    -0.1 to +0.1 %  "
			"no significant change");
	/* In one line: there is nothing to compare. */
	expect_in(text, "\nnew               0 → 1  -                 -         -        -"
			"                 -  new                  \nold ");
	expect_in(text, "\nold               1 → 0  -                 -         -        -"
			"                 -  gone                 \n─");
	expect_in(text, "all requests");
	expect_in(text, "4 of 8 figures changed significantly, at 95 % for all of them together");
	expect_in(text, "The intervals are of 95 % each");
	free(text);
	text = print(diff_text_print, 1, 120);
	expect_in(text, "… 2 more\n");
	assert_null(strstr(text, "gone"));
	free(text);
	text = print(print_diff_json, 0, 100);
	expect_in(text,
		  "{\"by\":\"endpoint\",\n\"before\":{\"name\":\"monday.rec\",\"records\":12,");
	expect_in(text, "\"cpu_mean\":{\"before_ns\":100249,\"after_ns\":120249,"
			"\"change_ns\":20000.0,\"low_ns\":");
	expect_in(text, "\"changed\":true}");
	expect_in(text, "{\"key\":\"new\",\"after\":{\"requests\":1,\"cpu_ns\":5}}");
	expect_in(text, "\"tested\":8,\n\"changed\":4}\n");
	free(text);
	text = print(print_diff_json, 1, 100);
	assert_null(strstr(text, "\"new\""));
	free(text);
}

/* One that changed, one that did not, one of few requests, one without a name; a new one, and one
 * that is gone. */
static void add_each_kind(void)
{
	for (int i = 0; i < 400; i++) {
		add(&before, "GET /more", 1000000 + 1000 * (i * 7 % 400),
		    3000000 + 5000 * (i % 50));
		add(&after, "GET /more", 1100000 + 1000 * (i * 7 % 400), 3000000 + 5000 * (i % 50));
		add(&before, "GET /same, \\\"quoted\\\"", 500000 + 1000 * (i % 50),
		    900000 + 3000 * (i % 40));
		add(&after, "GET /same, \\\"quoted\\\"", 500000 + 1000 * (i * 3 % 50),
		    900000 + 3000 * (i * 7 % 40));
	}
	add(&before, "GET /few", 5, 5);
	add(&after, "GET /few", 6, 5);
	add(&before, "", 100, 200);
	add(&after, "", 300, 400);
	add(&before, "GET /gone", 5, 5);
	add(&after, "GET /new", 5, 5);
	compare();
}

FIXTURE_TEST(diff_formats_match_golden_files)
{
	static const struct {
		int (*format)(const struct diff *, const struct view_options *, FILE *);
		const char *name;
	} formats[] = {
		{ diff_text_print, "diff.txt" },
		{ print_diff_json, "diff.json" },
		{ print_diff_ndjson, "diff.ndjson" },
		{ print_diff_csv, "diff.csv" },
	};

	add_each_kind();
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		char *text = print(formats[i].format, 0, 120);

		golden_compare(formats[i].name, text, strlen(text));
		free(text);
	}
}

/* The column behind all others, of a row that is as wide as the others. */
static void expect_hidden_in_csv(const char *text, const char *count)
{
	const char *row = strstr(text, "\r\nhidden,"), *end;
	size_t commas = 0, row_commas = 0;

	assert_non_null(row);
	for (const char *at = text; *at != '\r'; at++)
		commas += *at == ',';
	end = strstr(row + 2, "\r\n");
	assert_non_null(end);
	for (const char *at = row + 2; at < end; at++)
		row_commas += *at == ',';
	assert_int_equal(row_commas, commas);
	assert_memory_equal(strchr(text, '\r') - strlen(",groups"), ",groups", strlen(",groups"));
	assert_memory_equal(end - strlen(count) - 1, ",", 1);
	assert_memory_equal(end - strlen(count), count, strlen(count));
}

FIXTURE_TEST(diff_has_column_per_key_and_counts_hidden_groups)
{
	static const char *const two = "endpoint,comm";
	char *text;

	totals_deinit(&before);
	totals_deinit(&after);
	assert_int_equal(totals_init(&before, &two, 1), 0);
	assert_int_equal(totals_init(&after, &two, 1), 0);
	add(&before, "a", 9, 5);
	add(&before, "b", 5, 5);
	add(&after, "b", 5, 5);
	compare();
	text = print(print_diff_csv, 1, 100);
	expect_in(text, "row,endpoint,comm,before_requests,before_cpu_ns,");
	expect_in(text, "\r\ngroup,b,");
	expect_in(text, "\r\nall,,,2,14,");
	assert_null(strstr(text, "\r\ngroup,a,"));
	expect_hidden_in_csv(text, "1");
	free(text);
	text = print(print_diff_csv, 2, 100);
	assert_null(strstr(text, "hidden"));
	free(text);
	text = print(print_diff_ndjson, 1, 100);
	expect_in(text, "{\"row\":\"hidden\",\"by\":\"endpoint,comm\",\"groups\":1}\n");
	free(text);
	text = print(print_diff_ndjson, 2, 100);
	assert_null(strstr(text, "hidden"));
	free(text);
	text = print(print_diff_json, 1, 100);
	expect_in(text, "\"hidden\":{\"groups\":1},");
	free(text);
	text = print(print_diff_json, 2, 100);
	assert_null(strstr(text, "hidden"));
	free(text);
}

FIXTURE_TEST(diff_change_requires_probability_below_five_percent)
{
	struct diff_figure figure = { .is_tested = true,
				      .difference = { .low = 1, .high = 2 },
				      .corrected = 0.0499 };

	assert_true(diff_has_changed(&figure));
	figure.difference = (struct difference){ .low = -2, .high = -1 };
	assert_true(diff_has_changed(&figure));
	figure.corrected = 0.05;
	assert_false(diff_has_changed(&figure));
	figure.corrected = 0.0499;
	/* The interval knows of buckets. */
	figure.difference = (struct difference){ .low = -1, .high = 2 };
	assert_false(diff_has_changed(&figure));
	assert_false(diff_has_changed(&(struct diff_figure){ .corrected = 0.0499 }));
}

FIXTURE_TEST(diff_reports_too_few_requests)
{
	char *text;

	add(&before, "a", 5, 5);
	add(&after, "a", 6, 5);
	compare();
	text = print(diff_text_print, 0, 120);
	expect_in(text,
		  "cpu mean     5 ns   6 ns  +20.0 %              -  too few to tell: 10 needed");
	expect_in(text,
		  "wall p99     5 ns   5 ns   +0.0 %              -  too few to tell: 368 needed");
	expect_in(text, "nothing to compare: too few requests with a request_id");
	free(text);
}

FIXTURE_TEST(diff_reports_damaged_and_truncated_files)
{
	static const char *const keys[] = { "\"damaged_bytes\":7", "\"truncated\":true" };
	struct input_file files[2] = { { .name = "a", .damaged_places = 1, .damaged_bytes = 7 },
				       { .name = "b", .is_truncated = true } };
	struct view_options options = { .width = 60, .files = files, .file_count = 2 };
	char *text = NULL;
	size_t size_bytes;
	FILE *out;

	add(&before, "GET /", 5, 5);
	add(&after, "GET /", 5, 5);
	compare();
	for (int i = 0; i < 3; i++) {
		out = open_memstream(&text, &size_bytes);
		assert_int_equal((i < 2 ? diff_text_print : print_diff_json)(&diff, &options, out),
				 0);
		assert_int_equal(fclose(out), 0);
		if (i < 2) {
			/* As wide as the screen, unless that has no end. */
			char *heading = strstr(text, "\nendpoint");

			assert_non_null(heading);
			assert_int_equal(strcspn(heading + 1, "\n") > 60, i == 1);
			expect_in(text, "DAMAGED");
			expect_in(text, "truncated\n");
		} else {
			expect_in(strstr(text, "\"name\":\"a\""), keys[0]);
			expect_in(strstr(text, "\"name\":\"b\""), keys[1]);
		}
		free(text);
		options.is_endless = true;
	}
}

FIXTURE_TEST(diff_clamps_interval_at_minus_100_percent)
{
	char *text;

	for (int i = 0; i < 10; i++) {
		add(&before, "a", i == 0 ? 1000 : 1, 1);
		add(&after, "a", 1, 1);
	}
	compare();
	assert_true(diff.rows[0].figures[DIFF_CPU_MEAN].difference.low < -100);
	text = print(diff_text_print, 0, 120);
	expect_in(text, "-100.0 to ");
	free(text);
}

FIXTURE_TEST(diff_reports_missing_keys_and_figures)
{
	static const char *const by_two = "endpoint,tenant";
	char *text;

	totals_deinit(&before);
	totals_deinit(&after);
	assert_int_equal(totals_init(&before, &by_two, 1), 0);
	assert_int_equal(totals_init(&after, &by_two, 1), 0);
	for (int i = 0; i < 2; i++) {
		struct totals *totals = i ? &after : &before;

		/* Of no CPU at first, of no known time. */
		sample_add_record(
			totals, "cpu pid=42 request_id=\"1\" endpoint=\"GET /\" cpu_ns=%d", 5 * i);
		sample_add_record(totals,
				  "cpu pid=42 request_id=\"2\" endpoint= tenant=seven cpu_ns=4");
	}
	compare();
	text = print(diff_text_print, 0, 120);
	expect_in(text, "GET /          (no tenant)     1 → 1  cpu mean     0 ns   5 ns"
			"         -              -  too few to tell: 10 needed");
	expect_in(text, "wall mean       -      -         -              -  not measured");
	expect_in(text, "(no endpoint)  seven           1 → 1  cpu mean     4 ns   4 ns");
	free(text);
	text = print(print_diff_json, 0, 100);
	expect_in(text, "\"cpu_mean\":{\"before_ns\":4,\"after_ns\":4}");
	assert_null(strstr(text, "wall_mean"));
	assert_null(strstr(text, "change_ns"));
	free(text);
}

FIXTURE_TEST(diff_reports_decrease_and_huge_increase)
{
	char *text;

	for (int i = 0; i < 100; i++) {
		add(&before, "less", 2000 + i, 10);
		add(&after, "less", 1000 + i, 10);
	}
	add(&before, "immense", 1, 5);
	add(&after, "immense", 1000000, 5);
	add(&before, "large", 1, 5);
	add(&after, "large", 9999, 5);
	compare();
	text = print(diff_text_print, 0, 120);
	expect_in(text, "%  LESS");
	assert_null(strstr(text, "MORE"));
	expect_in(text, "cpu mean       1 ns  1.000 ms            -");
	expect_in(text, "+999800.0 %");
	free(text);
}

FIXTURE_TEST(diff_prefixes_threads_with_host_if_several)
{
	static const char *const by_thread = "tid";
	const char *hosts[] = { "one", "two" };
	char *text;

	totals_deinit(&before);
	totals_deinit(&after);
	assert_int_equal(totals_init(&before, &by_thread, 1), 0);
	assert_int_equal(totals_init(&after, &by_thread, 1), 0);
	/* The second recording has two hosts. */
	for (int i = 0; i < 3; i++)
		sample_add_record(i == 0 ? &before : &after,
				  "cpu host_name=%s pid=42 tid=7 request_id=\"1\" cpu_ns=5",
				  hosts[i / 2]);
	compare();
	text = print(diff_text_print, 0, 120);
	expect_in(text, "one:42/7");
	expect_in(text, "two:42/7");
	free(text);
	text = print(print_diff_json, 0, 100);
	expect_in(text, "\"one:42/7\"");
	free(text);
}

FIXTURE_TEST(diff_shows_end_of_long_escaped_key)
{
	char key[1000];
	char *text;

	memset(key, '\033', sizeof(key) - 2);
	(void)strcpy(key + sizeof(key) - 2, "x");
	add(&before, key, 5, 5);
	add(&after, key, 5, 5);
	compare();
	text = print(diff_text_print, 0, 120);
	expect_in(text, "\n\\x1b");
	expect_in(text, "\\x1bx  ");
	free(text);
}

FIXTURE_TEST(diff_reports_no_significant_change)
{
	char *text;

	for (int i = 0; i < 20; i++) {
		add(&before, "a", 100 + i, 10 + i);
		add(&after, "a", 101 + i, 10 + i);
	}
	compare();
	text = print(diff_text_print, 0, 120);
	expect_in(text, "\nno significant change in 4 figures, at 95 %\n");
	free(text);
}

static int try_print(int (*format)(const struct diff *, const struct view_options *, FILE *))
{
	static char place[65536];
	static const struct input_file files[2] = { { .name = "one" }, { .name = "two" } };
	const struct view_options options = { .width = 100, .files = files, .file_count = 2 };
	FILE *out = fmemopen(place, sizeof(place), "w");
	int r;

	assert_non_null(out);
	r = format(&diff, &options, out);
	(void)fclose(out);
	return r;
}

FIXTURE_TEST(diff_returns_enomem_without_memory)
{
	size_t table_failures = 0, json_failures = 0;

	for (int i = 0; i < 400; i++) {
		add(&before, "a", i, i);
		add(&after, "a", i, i);
	}
	assert_int_equal(totals_finish(&before), 0);
	assert_int_equal(totals_finish(&after), 0);
	assert_each_allocation_can_fail(diff_init(&diff, &before, &after), (void)0);
	json_set_alloc_funcs(malloc, free);
	assert_each_allocation_can_fail(try_print(diff_text_print), table_failures++);
	assert_each_allocation_can_fail(try_print(print_diff_json), json_failures++);
	assert_true(table_failures > 0 && json_failures > 0);
}
