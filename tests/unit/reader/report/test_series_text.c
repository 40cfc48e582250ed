/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <locale.h>
#include <time.h>

#include <jansson.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/aggregate/sample_totals.h"
#include "reader/report/formats.h"

#include "reader/report/printed.h"

enum {
	START_S = 1700000000, /* 22:13:20 */
	WIDE = 160,
	MS = 1000000,
};

#define S INT64_C(1000000000)

typedef int (*format_fn)(const struct totals *totals, const struct view_options *options,
			 FILE *out);

static struct totals totals;

static int setup(void **state)
{
	(void)state;
	(void)setenv("TZ", "UTC", 1);
	tzset();
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

static int teardown(void **state)
{
	totals_deinit(&totals);
	return printed_forget(state);
}

static void begin(const char *by)
{
	totals_deinit(&totals);
	assert_int_equal(totals_init(&totals, &by, 1), 0);
	grouping_split_over_time(&totals.groupings[0], 0);
}

/* Adds a window of one second that ends this many seconds after START_S, with fields of a line. */
__attribute__((format(printf, 2, 3))) static void add_window(unsigned int end_s, const char *format,
							     ...)
{
	struct sample sample;
	va_list values;

	sample_record(&sample, "cpu pid=42 window_ns=%ld", S);
	sample_set_time(&sample, START_S + end_s, 0);
	va_start(values, format);
	sample_fields_v(&sample, format, values);
	va_end(values);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

static void add(unsigned int end_s, const char *request_id, const char *endpoint, int64_t cpu_ns)
{
	add_window(end_s, "request_id=\"%s\" endpoint=\"%s\" cpu_ns=%ld", request_id, endpoint,
		   cpu_ns);
}

static int try_print(format_fn format, const struct view_options *options)
{
	FILE *out = printed_begin();
	int r = format(&totals, options, out);

	printed_end(out);
	return r;
}

static void print(format_fn format, const struct view_options *options)
{
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(try_print(format, options), 0);
}

/* Lines that begin so. */
static size_t count_lines(const char *beginning)
{
	size_t count = 0;

	for (const char *at = printed; *at; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL))
		count += strncmp(at, beginning, strlen(beginning)) == 0;
	return count;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(series_table_shows_sums_and_bar_per_step)
{
	const struct view_options options = { .width = WIDE };

	begin("endpoint");
	add(1, "1", "GET /a", 8 * MS);
	add(2, "2", "GET /a", 3 * MS);
	add(2, "3", "GET /b", MS);
	add(3, "", "", MS);
	add_window(4, "request_id=\"4\" endpoint=\"GET /a\" cpu_ns=2000000 user_ns=1500000 "
		      "kernel_ns=500000 run_queue_ns=5000000 blocked_ns=6000000");
	print(series_text_print, &options);
	says("began (UTC) requests cpu user kernel run queue blocked unattributed cpu as a bar");
	says("22:13:20.000 1 8.000 ms - - - - 0 ns ████████████");
	says("22:13:21.000 2 4.000 ms - - - - 0 ns ██████ ");
	says("22:13:22.000 - 1.000 ms - - - - 1.000 ms █▌ ");
	says("22:13:23.000 1 2.000 ms 1.500 ms 500.0 us 5.000 ms 6.000 ms 0 ns ███ ");
	says("total 4 15.00 ms - - - - 1.000 ms ");
	says("endpoint requests cpu peak cpu over time");
	says("GET /a 3 13.00 ms 8.000 ms █▄ ▃ ");
	says("GET /b 1 1.000 ms 1.000 ms █ ");
	says("books - (no balance records)");
	says_nothing_of("more");
}

FIXTURE_TEST(series_curve_averages_steps_sharing_a_column)
{
	/* As narrow as can be: 12 columns. */
	const struct view_options options = { .width = 52, .has_step = true };
	const struct view_options endless = { .width = 52, .has_step = true, .is_endless = true };

	begin("endpoint");
	/* Three steps in each of nine columns, but one in the last. */
	for (unsigned int end_s = 1; end_s <= 25; end_s++)
		add(end_s, "1", "a", end_s > 3 && end_s <= 6 ? 3 : 6);
	print(series_text_print, &options);
	says("a 1 141 ns 6 ns █▅███████ ");
	print(series_text_print, &endless);
	says("a 1 141 ns 6 ns ███▅▅▅███████████████████");
	assert_int_equal(count_lines("22:13:"), 25);
}

FIXTURE_TEST(series_curve_uses_available_width)
{
	static const struct {
		size_t width;
		size_t columns;
	} cases[] = { { 59, 12 }, { 60, 13 }, { 106, 59 }, { 107, 60 }, { 108, 60 }, { 120, 60 } };

	begin("endpoint");
	/* As many as are a column each where there is the most room. */
	for (unsigned int end_s = 1; end_s <= 60; end_s++)
		add(end_s, "1", "GET /alpha-beta", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct view_options options = { .width = cases[i].width, .has_step = true };
		size_t steps = (60 + cases[i].columns - 1) / cases[i].columns;
		size_t columns = 0;
		const char *at;

		print(series_text_print, &options);
		at = strstr(printed, "GET /alpha-beta");
		assert_non_null(at);
		for (const char *end = at + strcspn(at, "\n"); at < end; at++)
			columns += strncmp(at, "█", strlen("█")) == 0;
		assert_int_equal(columns, (60 + steps - 1) / steps);
	}
}

FIXTURE_TEST(series_table_shows_at_most_60_steps_by_default)
{
	const struct view_options fitting = { .width = WIDE };
	const struct view_options asked = { .width = WIDE, .has_step = true };

	begin("endpoint");
	for (unsigned int end_s = 1; end_s <= 60; end_s++)
		add(end_s, "1", "a", MS);
	print(series_text_print, &fitting);
	assert_int_equal(count_lines("22:1"), 60);
	add(61, "1", "a", MS);
	print(series_text_print, &fitting);
	assert_int_equal(count_lines("22:1"), 31);
	says("22:13:20.000 - 2.000 ms - - - - 0 ns ████████████");
	print(series_text_print, &asked);
	assert_int_equal(count_lines("22:1"), 61);
}

FIXTURE_TEST(series_table_counts_hidden_groups)
{
	const struct view_options all = { .width = WIDE };
	const struct view_options top = { .width = WIDE, .top_count = 2 };
	char endpoint[] = "a";

	begin("endpoint");
	for (int i = 0; i < 21; i++, endpoint[0]++)
		add(1, "1", endpoint, (21 - i) * MS);
	print(series_text_print, &all);
	says_nothing_of("more");
	assert_int_equal(count_lines("u "), 1);
	print(series_text_print, &top);
	says("… 19 more");
	assert_int_equal(count_lines("b "), 1);
	assert_int_equal(count_lines("c "), 0);
}

FIXTURE_TEST(series_table_labels_missing_keys)
{
	const struct view_options options = { .width = WIDE };

	begin("endpoint,tenant");
	add(1, "1", "GET /a", MS);
	add_window(1, "request_id=\"2\" endpoint= tenant=seven");
	print(series_text_print, &options);
	says("endpoint tenant requests cpu peak cpu over time");
	says("GET /a (no tenant) 1 1.000 ms 1.000 ms █ ");
	says("(no endpoint) seven 1 - - - ");
}

FIXTURE_TEST(series_table_shows_date_if_steps_span_days)
{
	const struct view_options options = { .width = WIDE };

	begin("endpoint");
	add(1, "1", "a", MS);
	add(2, "1", "a", MS);
	print(series_text_print, &options);
	assert_non_null(strstr(printed, "\n22:13:20.000 "));
	/* A day, and a year of as many days, later. */
	add(1 + 86400, "1", "a", MS);
	print(series_text_print, &options);
	assert_null(strstr(printed, "\n22:13:20"));
	says_nothing_of("-15 22:13:21");
	assert_non_null(strstr(printed, "-15 22:13:20"));
	begin("endpoint");
	add(1, "1", "a", MS);
	add(1 + 365 * 86400 + 86400, "1", "a", MS);
	print(series_text_print, &options);
	assert_null(strstr(printed, "\n22:13:20"));
}

FIXTURE_TEST(series_table_shows_total_without_records)
{
	const struct view_options options = { .width = WIDE };

	begin("endpoint");
	print(series_text_print, &options);
	says("began requests cpu user kernel run queue blocked unattributed cpu as a bar");
	says("total - - - - - - - ");
	says_nothing_of("over time");
}

/* Two steps, with a group, and what is in none. */
static void fill(void)
{
	begin("endpoint");
	add(1, "1", "GET /a", 1);
	add(1, "", "", 2);
	add_window(2, "request_id=\"2\" endpoint= flags=[overflow] cpu_ns=4");
	add(2, "3", "GET /b", 8);
	add(2, "4", "GET /a", 16);
}

FIXTURE_TEST(series_csv_and_ndjson_have_a_line_per_row)
{
	static const char *const rows[] = {
		"step,1700000000000000000,1700000001000000000,,1,3,",
		"group,1700000000000000000,1700000001000000000,GET /a,1,1,",
		"unattributed,1700000000000000000,1700000001000000000,,,2,",
		"step,1700000001000000000,1700000002000000000,,2,28,",
		"group,1700000001000000000,1700000002000000000,GET /a,1,16,",
		"group,1700000001000000000,1700000002000000000,GET /b,1,8,",
		"overflow,1700000001000000000,1700000002000000000,,,4,",
		"total,,,,3,31,",
	};
	const struct view_options options = { .width = WIDE };
	const char *line;

	fill();
	print(print_series_csv, &options);
	assert_int_equal(strncmp(printed, "row,start_ns,end_ns,endpoint,requests,cpu_ns,", 45), 0);
	line = printed;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		line += strcspn(line, "\n") + 1;
		assert_int_equal(strncmp(line, rows[i], strlen(rows[i])), 0);
	}
	assert_string_equal(line + strcspn(line, "\r"), "\r\n");

	print(print_series_ndjson, &options);
	line = printed;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *row = json_loadb(line, strcspn(line, "\n"), 0, NULL);

		assert_non_null(row);
		assert_int_equal(strncmp(json_string_value(json_object_get(row, "row")), rows[i],
					 strcspn(rows[i], ",")),
				 0);
		assert_string_equal(json_string_value(json_object_get(row, "by")), "endpoint");
		assert_int_equal(json_object_get(row, "start_ns") != NULL, i < 7);
		assert_int_equal(json_object_get(row, "end_ns") != NULL, i < 7);
		json_decref(row);
		line += strcspn(line, "\n") + 1;
	}
	assert_string_equal(line, "");
}

static int64_t number_in(const json_t *object, const char *name)
{
	assert_true(json_is_integer(json_object_get(object, name)));
	return json_integer_value(json_object_get(object, name));
}

FIXTURE_TEST(series_json_nests_parts_in_each_step)
{
	const struct view_options options = { .width = WIDE };
	const json_t *steps, *step, *groups;
	json_t *document;

	fill();
	print(print_series_json, &options);
	document = json_loads(printed, 0, NULL);
	assert_non_null(document);
	assert_null(json_object_get(document, "step_ns"));
	steps = json_object_get(document, "steps");
	assert_int_equal(json_array_size(steps), 2);
	step = json_array_get(steps, 0);
	assert_int_equal(number_in(step, "start_ns"), START_S * S);
	assert_int_equal(number_in(step, "end_ns"), (START_S + 1) * S);
	assert_int_equal(number_in(step, "cpu_ns"), 3);
	assert_int_equal(number_in(json_object_get(step, "unattributed"), "cpu_ns"), 2);
	assert_null(json_object_get(step, "overflow"));
	assert_null(json_object_get(json_object_get(step, "unattributed"), "start_ns"));
	assert_int_equal(json_array_size(json_object_get(step, "groups")), 1);
	step = json_array_get(steps, 1);
	groups = json_object_get(step, "groups");
	assert_int_equal(number_in(step, "requests"), 2);
	assert_int_equal(number_in(json_object_get(step, "overflow"), "cpu_ns"), 4);
	assert_int_equal(json_array_size(groups), 2);
	assert_int_equal(number_in(json_array_get(groups, 1), "cpu_ns"), 8);
	assert_null(json_object_get(json_array_get(groups, 1), "start_ns"));
	groups = json_object_get(document, "groups");
	assert_int_equal(json_array_size(groups), 2);
	assert_int_equal(number_in(json_array_get(groups, 0), "cpu_ns"), 17);
	assert_int_equal(number_in(json_array_get(groups, 0), "requests"), 2);
	assert_int_equal(number_in(json_object_get(document, "total"), "cpu_ns"), 31);
	json_decref(document);

	totals_deinit(&totals);
	assert_int_equal(totals_init(&totals, (const char *const[]){ "endpoint" }, 1), 0);
	grouping_split_over_time(&totals.groupings[0], 5 * S);
	add(1, "1", "GET /a", 1);
	print(print_series_json, &options);
	document = json_loads(printed, 0, NULL);
	assert_int_equal(number_in(document, "step_ns"), 5 * S);
	json_decref(document);
}

FIXTURE_TEST(series_formats_return_enomem_without_memory)
{
	static const format_fn formats[] = { series_text_print, print_series_json,
					     print_series_ndjson, print_series_csv };
	const struct view_options options = { .width = WIDE };

	json_set_alloc_funcs(malloc, free);
	fill();
	assert_int_equal(totals_finish(&totals), 0);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		size_t failures = 0;

		assert_each_allocation_can_fail(try_print(formats[i], &options), failures++);
		assert_true(failures > 2);
	}
	json_set_alloc_funcs(malloc, free);
}
