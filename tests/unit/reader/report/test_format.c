/* SPDX-License-Identifier: GPL-2.0-only */
#include <locale.h>
#include <stdlib.h>
#include <time.h>

#include "unit_test.h"

#include "reader/aggregate/sample_totals.h"
#include "reader/report/formats.h"
#include "record/entry_scan.h"
#include "record/golden.h"
#include "record/record_reader.h"

typedef int (*format_fn)(const struct totals *totals, const struct view_options *options,
			 FILE *out);

static const char *const by_default[] = { "endpoint", "request_id" };

static int setup(void **state)
{
	static struct totals totals;

	*state = &totals;
	(void)setenv("TZ", "UTC0", 1);
	tzset();
	return setlocale(LC_CTYPE, "C.UTF-8") ? totals_init(&totals, by_default, 2) : -1;
}

static int teardown(void **state)
{
	totals_deinit(*state);
	return 0;
}

static void read_golden(struct totals *totals)
{
	static struct record_view view;
	struct record_reader *reader = NULL;
	char path[4096];

	golden_path("shop.rec", path, sizeof(path));
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0)
		assert_int_equal(totals_add(totals, &view), 0);
	assert_int_equal(record_reader_entry_count(reader), GOLDEN_RECORDS);
	record_reader_free(reader);
	totals_finish(totals);
}

/* What the format prints, in short or with all of the books; the caller frees it. */
static char *print_in(bool is_short, format_fn format, const struct totals *totals,
		      size_t top_count, size_t width)
{
	static const struct input_file file = { .name = "shop.rec", .entry_count = GOLDEN_RECORDS };
	const struct view_options options = {
		.sort = FIGURE_CPU,
		.top_count = top_count,
		.has_books = !is_short,
		.has_cost = !is_short,
		.width = width,
		.files = &file,
		.file_count = 1,
	};
	size_t size_bytes = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size_bytes);

	assert_non_null(out);
	assert_int_equal(format(totals, &options, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static char *print(format_fn format, const struct totals *totals, size_t top_count, size_t width)
{
	return print_in(false, format, totals, top_count, width);
}

static void expect_in(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void expect_golden(void **state, format_fn format, const char *name, size_t width)
{
	char *text;

	read_golden(*state);
	text = print(format, *state, 0, width);
	golden_compare(name, text, strlen(text));
	free(text);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(table_matches_golden_file)
{
	expect_golden(state, totals_text_print, "shop.txt", 100);
}

FIXTURE_TEST(table_fits_80_columns)
{
	expect_golden(state, totals_text_print, "shop-80.txt", 80);
}

FIXTURE_TEST(table_short_form_fits_screen)
{
	char *text;

	read_golden(*state);
	text = print_in(true, totals_text_print, *state, 0, 80);
	golden_compare("shop-short-80.txt", text, strlen(text));
	free(text);
}

static void begin_by(struct totals *totals, const char *by)
{
	totals_deinit(totals);
	assert_int_equal(totals_init(totals, &by, 1), 0);
}

/* The golden recording by that alone. */
static void expect_golden_by(struct totals *totals, const char *by, format_fn format,
			     const char *name, size_t width)
{
	char *text;

	begin_by(totals, by);
	read_golden(totals);
	text = print(format, totals, 0, width);
	golden_compare(name, text, strlen(text));
	free(text);
}

FIXTURE_TEST(formats_by_thread_match_golden_files)
{
	expect_golden_by(*state, "tid", totals_text_print, "shop-by-tid.txt", 140);
	expect_golden_by(*state, "tid", print_csv, "shop-by-tid.csv", 140);
}

FIXTURE_TEST(formats_by_request_match_golden_files)
{
	expect_golden_by(*state, "request_id", print_csv, "shop-by-request.csv", 100);
	expect_golden_by(*state, "request_id", print_json, "shop-by-request.json", 100);
}

static char *print_slowest(const struct totals *totals, format_fn format, size_t width)
{
	const struct view_options options = { .sort = FIGURE_WALL,
					      .is_slowest = true,
					      .width = width };
	size_t size_bytes = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size_bytes);

	assert_non_null(out);
	assert_int_equal(format(totals, &options, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

FIXTURE_TEST(table_of_slowest_requests_matches_golden_file)
{
	char *text;

	assert_int_equal(setenv("TZ", "CET-1", 1), 0);
	tzset();
	begin_by(*state, "request_id");
	read_golden(*state);
	text = print_slowest(*state, totals_text_print, 80);
	golden_compare("shop-slowest-80.txt", text, strlen(text));
	free(text);
}

/* So that 1.5 days are no hours. */
FIXTURE_TEST(table_shows_date_if_recording_spans_days)
{
	struct totals *totals = *state;
	char *text;

	begin_by(totals, "request_id");
	for (int i = 0; i < 2; i++)
		sample_add_record(totals,
				  "balance pid=42 window_ns=%ld exec_ns=0 attributed_ns=0 "
				  "unattributed_ns=0 residual_ns=0 overflow_ns=0",
				  i * 86400000000000);
	sample_add_cpu_with(totals, 1, "a", 5, 5,
			    "first_ns=1700000000123999999 last_ns=1700000000123999999");
	totals_finish(totals);
	text = print_slowest(totals, totals_text_print, 100);
	expect_in(text, "11-14 22:13:20.123");
	free(text);
}

FIXTURE_TEST(series_formats_match_golden_files)
{
	static const struct {
		format_fn format;
		const char *name;
	} formats[] = {
		{ series_text_print, "shop-over-time.txt" },
		{ print_series_json, "shop-over-time.json" },
		{ print_series_ndjson, "shop-over-time.ndjson" },
		{ print_series_csv, "shop-over-time.csv" },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct totals *totals = *state;
		char *text;

		begin_by(totals, "endpoint");
		grouping_split_over_time(&totals->groupings[0], i % 2 ? 10000000000 : 0);
		read_golden(totals);
		text = print(formats[i].format, totals, 0, 100);
		golden_compare(formats[i].name, text, strlen(text));
		free(text);
	}
}

FIXTURE_TEST(formats_by_two_keys_match_golden_files)
{
	expect_golden_by(*state, "endpoint,thread_name", totals_text_print, "shop-by-two.txt", 100);
	expect_golden_by(*state, "endpoint,thread_name", print_csv, "shop-by-two.csv", 100);
	expect_golden_by(*state, "attribution,pid", print_json, "shop-by-two.json", 100);
}

FIXTURE_TEST(formats_by_process_match_golden_files)
{
	expect_golden_by(*state, "pid", totals_text_print, "shop-by-pid-80.txt", 80);
	expect_golden_by(*state, "pid", print_json, "shop-by-pid.json", 80);
}

FIXTURE_TEST(json_matches_golden_file)
{
	expect_golden(state, print_json, "shop.json", 100);
}

FIXTURE_TEST(csv_matches_golden_file)
{
	expect_golden(state, print_csv, "shop.csv", 100);
}

FIXTURE_TEST(formats_mark_unmeasured_figures)
{
	struct totals *totals = *state;
	const char *row;
	char *text;

	begin_by(totals, "request_id");
	sample_add_record(totals, "cpu pid=42 request_id=a cpu_ns=5");
	totals_finish(totals);
	text = print(totals_text_print, totals, 0, 100);
	expect_in(text, "a             5 ns     -     - ");
	expect_in(text, "unattributed  0 ns     -     - ");
	expect_in(text, "  100.00 % ");
	expect_in(text, "  - (no balance records)");
	free(text);
	text = print(print_json, totals, 0, 100);
	expect_in(text, "{\"key\":\"a\",\"requests\":1,\"cpu_ns\":5,\"share_percent\":100.0}");
	free(text);
	text = print(print_csv, totals, 0, 100);
	row = strstr(text, "group,a,1,5,,,,,100,");
	assert_non_null(row);
	row += strlen("group,a,1,5,,,,,100,");
	assert_int_equal(strcspn(row, "\r"), strspn(row, ","));
	free(text);
}

static void add_split(struct totals *totals, const char *request_id, int64_t split_error_ns)
{
	sample_add_cpu_with(totals, 1, request_id, 600000, 400000, "split_error_ns=%ld",
			    split_error_ns);
}

FIXTURE_TEST(table_shows_split_error_above_five_percent)
{
	struct totals *totals = *state;
	char *text;

	begin_by(totals, "request_id");
	add_split(totals, "a", 50000);
	totals_finish(totals);
	text = print(totals_text_print, totals, 0, 120);
	assert_null(strstr(text, "split ±"));
	free(text);
	add_split(totals, "b", 50001);
	totals_finish(totals);
	text = print(totals_text_print, totals, 0, 120);
	expect_in(text, "user    kernel   split ±  run queue");
	expect_in(text, "b             1.000 ms     -  600.0 us  400.0 us  50.00 us");
	expect_in(text, "total         2.000 ms     -  1.200 ms  800.0 us  100.0 us");
	free(text);
	text = print(totals_text_print, totals, 0, 60);
	assert_null(strstr(text, "split ±  "));
	free(text);
	text = print(print_json, totals, 0, 100);
	expect_in(text, "\"split_error_ns\":100001");
	free(text);
}

FIXTURE_TEST(csv_quotes_cells_and_disarms_formulas)
{
	char *text;

	begin_by(*state, "request_id");
	sample_add_cpu(*state, 1, "=1+2", NULL, 1, 0);
	sample_add_cpu(*state, 1, "say \\\"a,b\\\"", NULL, 1, 0);
	sample_add_cpu(*state, 1, "@x,y", NULL, 1, 0);
	assert_int_equal(totals_finish(*state), 0);
	text = print(print_csv, *state, 0, 100);
	expect_in(text, "group,'=1+2,1,");
	expect_in(text, "group,\"say \"\"a,b\"\"\",1,");
	expect_in(text, "group,\"'@x,y\",1,");
	free(text);
}

/* 5.3646: cut to 5.365 first, it would be 5.37. */
FIXTURE_TEST(table_rounds_share_once)
{
	char *text;

	sample_add_cpu(*state, 1, "a", "rare", 53646, 0);
	sample_add_cpu(*state, 1, "b", "often", 946354, 0);
	text = print(totals_text_print, *state, 0, 100);
	expect_in(text, "  5.36 %");
	expect_in(text, " 94.64 %");
	free(text);
}

FIXTURE_TEST(formats_sum_hidden_rows_into_one)
{
	char *text, *hidden;

	begin_by(*state, "request_id");
	read_golden(*state);
	text = print(totals_text_print, *state, 1, 200);
	expect_in(text,
		  "… 2 more                   180.0 ms         -         -  160.0 ms  20.00 ms");
	free(text);
	text = print(print_json, *state, 1, 100);
	expect_in(text, "\"hidden\":{\"cpu_ns\":180000000");
	expect_in(text, "\"groups\":2}");
	free(text);
	text = print(print_csv, *state, 1, 100);
	expect_in(text, ",groups\r\n");
	hidden = strstr(text, "\nhidden,");
	assert_non_null(hidden);
	hidden[strcspn(hidden, "\r")] = '\0';
	expect_in(hidden, ",180000000,160000000,20000000,");
	assert_string_equal(hidden + strlen(hidden) - 2, ",2");
	free(text);
}

FIXTURE_TEST(formats_split_unattributed_time_by_thread)
{
	struct totals *totals = *state;
	struct sample sample;
	char *text;

	for (int i = 0; i < 7; i++) {
		sample_record(&sample, "cpu pid=42 request_id= thread_name=%s cpu_ns=%d",
			      i ? (char[]){ (char)('a' + i), 0 } : "\x1b", 10 - i);
		if (i != 2)
			sample_fields(&sample, "blocked_ns=%d", 2000 + i);
		if (i == 1)
			sample_fields(&sample, "flags=[unknown]");
		assert_int_equal(sample_add(&sample, totals), 0);
	}
	totals_finish(totals);
	text = print(totals_text_print, totals, 0, 100);
	expect_in(text,
		  "unattributed, by thread  what it was    cpu    share  run queue   blocked\n"
		  "\\x1b                     no context   10 ns  20.41 %          -  2.000 us\n"
		  "b                        unknown       9 ns  18.37 %          -  2.001 us\n"
		  "c                        no context    8 ns  16.33 %          -         -\n"
		  "d                        no context    7 ns  14.29 %          -  2.003 us\n"
		  "e                        no context    6 ns  12.24 %          -  2.004 us\n"
		  "… 2 more                               9 ns  18.37 %          -  4.011 us\n\n");
	free(text);
	text = print(print_json, totals, 0, 100);
	expect_in(text, "{\"keys\":{\"thread_name\":\"g\",\"attribution\":\"no context\"},"
			"\"cpu_ns\":4,\"blocked_ns\":2006,");
	free(text);
}

FIXTURE_TEST(table_lists_unattributed_threads_without_name)
{
	struct totals *totals = *state;
	char *text;

	sample_add_record(totals, "cpu pid=42 request_id= cpu_ns=10");
	totals_finish(totals);
	text = print(totals_text_print, totals, 0, 100);
	expect_in(text, "\n(no name) ");
	free(text);
}

FIXTURE_TEST(formats_escape_hostile_keys)
{
	char *text;

	sample_add_cpu(*state, 1, "\x1b[31m\xff", "\x1b]0;x\x07", 1, 0);
	totals_finish(*state);
	text = print(totals_text_print, *state, 0, 100);
	expect_in(text, "\\x1b[31m\\xff");
	assert_null(strchr(text, '\x1b'));
	free(text);
	text = print(print_json, *state, 0, 100);
	expect_in(text, "\"key\":\"\\\\x1b]0;x\\\\x07\"");
	free(text);
}

FIXTURE_TEST(table_warns_of_unbalanced_books)
{
	struct totals *totals = *state;
	char *text;

	sample_add_cpu(totals, 1, "a", NULL, 900, 0);
	sample_add_record(totals, "balance pid=42 exec_ns=1000 attributed_ns=901 "
				  "unattributed_ns=0 overflow_ns=0 residual_ns=0 events_lost=7");
	sample_add_record(totals, "gap pid=42 dropped_records=12 reason=\"spool full\"");
	totals_finish(totals);
	text = print(totals_text_print, totals, 0, 300);
	expect_in(text, "THE BOOKS DO NOT BALANCE: 99 ns of 1,000 ns");
	expect_in(text, "THE BALANCE RECORDS CONTRADICT THEMSELVES: they state a residual of 0 ns");
	expect_in(text, "THE TABLE DOES NOT MATCH THE BOOKS: its CPU adds up to 900 ns");
	expect_in(text, "events_lost 7: events that found the ring full");
	expect_in(text, "RECORDS ARE MISSING: 12 records in 0 segments were dropped (spool full)");
	free(text);
}

/* Damaged values in well-formed entries: any text, any number, any size may reach a format. */
FIXTURE_TEST(formats_survive_random_damage)
{
	static const format_fn formats[] = { totals_text_print, print_json, print_csv };
	static const char *const by_what_ran[] = { "tid", "pid" };
	const unsigned int seed = 20240301;
	static struct record_view view;
	size_t file_bytes, entry_bytes, added = 0;
	char *file = golden_read("shop.rec", &file_bytes);
	uint8_t *copy = malloc(file_bytes);

	assert_non_null(copy);
	srandom(seed);
	for (int round = 0; round < 600; round++) {
		memcpy(copy, file, file_bytes);
		for (int i = 0; i < 30; i++)
			copy[(size_t)random() % file_bytes] = (uint8_t)random();
		for (size_t at = 0; at < file_bytes; at++) {
			if (entry_scan(copy + at, file_bytes - at, &entry_bytes) < 0 ||
			    record_view_decode(copy + at, entry_bytes, &view) < 0)
				continue;
			added += totals_add(*state, &view) == 0;
		}
		if (round % 20 == 19) {
			totals_finish(*state);
			free(print(formats[round / 20 % 3], *state, 0,
				   20 + (size_t)random() % 100));
			totals_deinit(*state);
			assert_int_equal(
				totals_init(*state, round % 40 < 20 ? by_what_ran : by_default, 2),
				0);
		}
	}
	print_message("seed %u: %zu records\n", seed, added);
	assert_true(added > 600);
	free(copy);
	free(file);
}
