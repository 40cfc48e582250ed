/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <time.h>

#include "unit_test.h"
#include <jansson.h>

#include "failing_memory.h"
#include "reader/report/formats.h"
#include "reader/report/printed.h"
#include "reader/story/sample_story.h"
#include "reader/story/story_lane.h"
#include "record/golden.h"
#include "record/record_reader.h"

struct fixture {
	struct totals totals;
	struct story story;
};

static const char *const by = "endpoint";

static const struct sample_place own = {
	.pid = 7, .tid = 11, .thread_name = "puma 1", .request_id = "r-1", .endpoint = "GET /a"
};
static const struct sample_place helper = {
	.pid = 7, .tid = 12, .thread_name = "worker", .request_id = "r-1", .endpoint = "GET /a"
};
static const struct sample_place other = {
	.pid = 7, .tid = 13, .thread_name = "puma 2", .request_id = "r-2", .endpoint = "GET /b"
};

static int setup(void **state)
{
	static struct fixture fixture;

	*state = &fixture;
	if (!setlocale(LC_CTYPE, "C.UTF-8") || setenv("TZ", "XYZ-1", 1) < 0 ||
	    totals_init(&fixture.totals, &by, 1) < 0)
		return -1;
	tzset();
	assert_int_equal(story_init(&fixture.story, &fixture.totals, "r-1"), 0);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	story_deinit(&fixture->story);
	totals_deinit(&fixture->totals);
	return 0;
}

typedef int (*format_fn)(const struct story *story, const struct view_options *options, FILE *out);

static char *printed;

static int try_print(struct fixture *fixture, format_fn format, const struct view_options *options)
{
	size_t size_bytes;
	FILE *out;
	int r;

	free(printed);
	printed = NULL;
	out = open_memstream(&printed, &size_bytes);
	assert_non_null(out);
	r = format(&fixture->story, options, out);
	assert_int_equal(fclose(out), 0);
	return r;
}

static const char *print_page(struct fixture *fixture, format_fn format,
			      const struct view_options *options)
{
	assert_int_equal(totals_finish(&fixture->totals), 0);
	assert_int_equal(story_finish(&fixture->story), 0);
	assert_int_equal(try_print(fixture, format, options), 0);
	return printed;
}

static const char *print(struct fixture *fixture, size_t width)
{
	struct view_options options = { .width = width };

	return print_page(fixture, story_view_print, &options);
}

static void has_line(const char *line)
{
	char padded[PRINTED_LINE_BYTES];

	/* The last column may be one of texts, which are as wide as the widest. */
	(void)snprintf(padded, sizeof(padded), "%s ", line);
	if (!printed_has_line(printed, line) && !printed_has_line(printed, padded))
		fail_msg("no line \"%s\" in:\n%s", line, printed);
}

static void has(const char *part)
{
	if (!strstr(printed, part))
		fail_msg("\"%s\" is not in:\n%s", part, printed);
}

static void has_not(const char *part)
{
	if (strstr(printed, part))
		fail_msg("\"%s\" is in:\n%s", part, printed);
}

/* A request on two threads of two CPUs, and another one that is in its way. */
static void tell(struct story *story)
{
	struct sample sample;

	sample_give_record(story, "process pid=7 comm=puma");
	sample_add_slice(story, &own, "running", 1500000, 4000000, 0, 0);
	sample_add_slice(story, &other, "running", 4000000, 9000000, 0, 0);
	sample_add_slice(story, &own, "run_queue", 4000000, 9000000, 0, 0);
	sample_add_slice(story, &own, "running", 9000000, 9500001, 0, 0);
	sample_add_slice(story, &helper, "running", 9000000, 12000000, 1, 11);
	sample_add_slice(story, &own, "blocked", 9500001, 12000000, 0, 0);
	sample_add_slice(story, &own, "uninterruptible", 12000000, 14000000, 0, 0);
	sample_add_slice(story, &own, "running", 14000000, 15000000, 1, 99);
	sample_begin_window(&sample, &own, 1500000, 15000000, 4000001);
	sample_fields(&sample, "user_ns=3000001 kernel_ns=1000000 uninterruptible_ns=1 "
			       "syscalls=1234 flags=[inherited]");
	assert_int_equal(sample_give(&sample, story), 0);
	sample_begin_window(&sample, &helper, 9000000, 12000000, 3000000);
	sample_fields(&sample, "user_ns=3000000 kernel_ns=0 uninterruptible_ns=0 syscalls=0");
	assert_int_equal(sample_give(&sample, story), 0);
	sample_add_window(story, &other, 4000000, 9000000, 5000000);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(story_by_slices_matches_golden_file)
{
	struct fixture *fixture = *state;

	tell(&fixture->story);
	print(fixture, 100);
	golden_compare("story.txt", printed, strlen(printed));
}

/* Three fibers of one thread take turns, and a part is not known to be one's. */
static void tell_fibers(struct story *story)
{
	struct sample_place place = own;

	for (int turn = 0; turn < 6; turn++) {
		place.fiber = turn % 3 + 5;
		sample_add_slice(story, &place, "running", turn * 1000, (turn + 1) * 1000, 0, 0);
	}
	place.fiber = 0;
	sample_add_slice(story, &place, "blocked", 6000, 7000, 0, 0);
	place = helper;
	place.fiber = 9;
	sample_add_slice(story, &place, "running", 0, 7000, 1, 0);
	sample_add_window(story, &own, 0, 7000, 6000);
	sample_add_window(story, &helper, 0, 7000, 7000);
}

FIXTURE_TEST(story_gives_each_fiber_its_own_lane)
{
	struct fixture *fixture = *state;

	tell_fibers(&fixture->story);
	print(fixture, 13 + 35);
	has("                             ······\n7/11 fiber 5 █████         ██████");
	has("7/11 fiber 6     ██████         ██████");
	has("7/11 fiber 7          ██████");
	/* It is the only one of its thread. */
	has("7/12 worker");
	has_not("fiber 9");
}

FIXTURE_TEST(story_counts_fibers_beyond_limit)
{
	struct fixture *fixture = *state;
	struct sample_place place = own;

	for (place.fiber = 1; place.fiber <= 20; place.fiber++)
		sample_add_slice(&fixture->story, &place, "running", place.fiber * 1000,
				 (place.fiber + 1) * 1000, 0, 0);
	sample_add_window(&fixture->story, &own, 1000, 21000, 20000);
	print(fixture, 100);
	has("7/11 fiber 16 ");
	has("\n… 4 more fibers and threads\n");
}

FIXTURE_TEST(story_list_names_fiber_of_single_thread)
{
	struct fixture *fixture = *state;
	struct sample_place place = own;

	place.fiber = 5;
	sample_add_slice(&fixture->story, &place, "running", 0, 1000, 0, 0);
	place.fiber = 6;
	sample_add_slice(&fixture->story, &place, "running", 1000, 2000, 0, 0);
	sample_add_window(&fixture->story, &own, 0, 2000, 2000);
	print(fixture, 100);
	has("1.000 us       0  running            7/11 fiber 5\n");
	has("1.000 us       0  running            7/11 fiber 6\n");
}

/* 80 columns, the longest name that Linux has for a thread, large numbers, and a sum of four
 * states. */
FIXTURE_TEST(story_list_at_80_columns_names_thread_or_fiber)
{
	static const char *const states[] = { "running", "run_queue", "blocked",
					      "uninterruptible" };
	struct fixture *fixture = *state;
	struct sample_place place = { .pid = 1234567,
				      .tid = 1234568,
				      .thread_name = "puma srv tp 001",
				      .request_id = "r-1" };

	for (int i = 0; i < 100; i++) {
		place.fiber = i % 2 + 5;
		sample_add_slice(&fixture->story, &place, states[i % 4], i * 12345678,
				 (i + 1) * 12345678 - i % 7, 1, 1234569);
	}
	place.tid = 1234569;
	place.fiber = 0;
	sample_add_slice(&fixture->story, &place, "running", 12345678, 99345678, 0, 0);
	sample_add_window(&fixture->story, &place, 0, 99345678, 1);
	print(fixture, 80);
	has("\n1234567/1234569 puma srv tp 001 ");
	has("  running          1234567/1234568 fiber 5");
	has("  running          1234567/1234569 puma srv tp 001");
	has("\n24.69 ms  … 5 more: 12.35 ms running 12.35 ms run queue ");
}

FIXTURE_TEST(story_windows_at_80_columns_name_thread)
{
	struct fixture *fixture = *state;
	struct sample_place place = { .pid = 1234567,
				      .tid = 1234568,
				      .thread_name = "puma srv tp 001",
				      .request_id = "r-1" };

	for (; place.tid < 1234570; place.tid++)
		sample_give_at(&fixture->story, "cpu", &place,
			       "cpu_ns=100000000 user_ns=62500000 run_queue_ns=12500000 "
			       "blocked_ns=987654321 first_ns=%ld last_ns=%ld",
			       SAMPLE_NS + 123456789 * (place.tid % 2), SAMPLE_NS + 246913578);
	print(fixture, 80);
	has("\n1234567/1234568 puma srv tp 001 ");
	has("\n1234567/1234569 puma srv tp 001 ");
	has_line("123.5 ms 123.5 ms 100.0 ms 987.7 ms 1234567/1234569 puma srv tp 001");
}

FIXTURE_TEST(story_json_slices_have_their_fiber)
{
	struct fixture *fixture = *state;

	tell_fibers(&fixture->story);
	print_page(fixture, print_story_json, &(struct view_options){ 0 });
	for (int fiber = 5; fiber <= 7; fiber++) {
		char member[32];

		(void)snprintf(member, sizeof(member), "\"fiber\":%d", fiber);
		has(member);
	}
	has_not("\"fiber\":0");
}

FIXTURE_TEST(story_on_narrow_screen_matches_golden_file)
{
	struct fixture *fixture = *state;

	tell(&fixture->story);
	print(fixture, 50);
	golden_compare("story-50.txt", printed, strlen(printed));
}

FIXTURE_TEST(story_json_matches_golden_file)
{
	static const struct view_options options = { .width = 100 };
	struct fixture *fixture = *state;

	tell(&fixture->story);
	print_page(fixture, print_story_json, &options);
	golden_compare("story.json", printed, strlen(printed));
}

FIXTURE_TEST(story_by_windows_matches_golden_file)
{
	static struct record_view view;
	struct fixture *fixture = *state;
	struct record_reader *reader = NULL;
	char path[4096];

	fixture->story.request_id = "req-1";
	golden_path("shop.rec", path, sizeof(path));
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0)
		assert_int_equal(story_add(&fixture->story, &view), 0);
	record_reader_free(reader);
	print(fixture, 80);
	golden_compare("story-windows.txt", printed, strlen(printed));
}

FIXTURE_TEST(story_shows_dash_for_unmeasured_figures)
{
	struct fixture *fixture = *state;
	struct sample sample;

	sample_begin_at(&sample, "cpu", &own);
	assert_int_equal(sample_give(&sample, &fixture->story), 0);
	print(fixture, 100);
	has_line("wall -");
	has_line("cpu -");
	has_line("run queue -");
	has_line("blocked -");
	has_line("calls -");
	has_not("began");
	has_not("█");
	has_line("after for cpu user kernel run queue blocked calls switches migrations");
	has_line("- - - - - - - - - -");
	has_line("nothing else that is observed ran meanwhile");
}

FIXTURE_TEST(story_shows_longest_slices_on_screen)
{
	struct view_options options = { .width = 100 };
	struct fixture *fixture = *state;

	for (int i = 0; i < 1000; i++)
		sample_add_slice(&fixture->story, &own, i % 2 ? "blocked" : "running", i * 10,
				 i * 10 + (i == 500 ? 9 : 3), 0, 0);
	sample_add_window(&fixture->story, &own, 0, 10000, 1500);
	print_page(fixture, story_view_print, &options);
	has_line("190 ns … 481 more: 720 ns running 723 ns blocked");
	has_line("5.000 us 9 ns 0 running");
	has_line("5.010 us … 499 more: 747 ns running 750 ns blocked");
	options.is_endless = true;
	assert_int_equal(try_print(fixture, story_view_print, &options), 0);
	has_not("more");
	has_line("9.990 us 3 ns blocked");
}

FIXTURE_TEST(story_shows_most_expensive_windows_on_screen)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 41; i++)
		sample_add_window(&fixture->story, i < 2 ? &helper : &own, i * 10, i * 10 + 4,
				  40 - i);
	print(fixture, 200);
	has_line("0 ns 4 ns 40 ns - - 3 ns 2 ns - - - 7/12 worker");
	has_line("190 ns 4 ns 21 ns - - 3 ns 2 ns - - - 7/11 puma 1");
	has_line("… 21 from 200 ns 204 ns 210 ns - - 63 ns 42 ns - - -");
}

FIXTURE_TEST(story_limits_threads_on_screen)
{
	struct view_options options = { .width = 100 };
	struct fixture *fixture = *state;
	struct sample_place place = own;

	for (int i = 0; i < 18; i++) {
		place.tid = 100 + i;
		sample_add_window(&fixture->story, &place, 0, 5, 5);
	}
	print_page(fixture, story_view_print, &options);
	has_line("… 2 more threads");
	options.is_endless = true;
	assert_int_equal(try_print(fixture, story_view_print, &options), 0);
	has_not("more threads");
}

FIXTURE_TEST(story_limits_concurrent_requests_to_top_count)
{
	struct view_options options = { .width = 100, .top_count = 2 };
	struct fixture *fixture = *state;
	struct sample_place place = other;

	sample_add_window(&fixture->story, &own, 10, 20, 5);
	for (int i = 0; i < 3; i++) {
		place.tid = 100 + i;
		sample_add_window(&fixture->story, &place, 0, 30, 5 + i);
	}
	print_page(fixture, story_view_print, &options);
	has_line("7/102 puma 2 ≤ 7 ns r-2 GET /b");
	has_line("7/101 puma 2 ≤ 6 ns r-2 GET /b");
	has_not("7/100");
	has_line("… 1 more");
	has_not("on its CPU:");
	options.top_count = 3;
	assert_int_equal(try_print(fixture, story_view_print, &options), 0);
	has("7/100");
	has_not("more");
}

FIXTURE_TEST(story_reports_several_processes_and_hosts)
{
	struct fixture *fixture = *state;
	struct sample_place place = own;

	sample_add_window(&fixture->story, &own, 10, 20, 5);
	place.pid = 8;
	sample_add_window(&fixture->story, &place, 10, 20, 5);
	print(fixture, 1000);
	has_line("process 7 on web-1");
	has_line("8 on web-1");
	has("It was seen in 2 processes");
	place.host = "web-2";
	sample_add_window(&fixture->story, &place, 10, 20, 5);
	assert_int_equal(story_finish(&fixture->story), 0);
	assert_int_equal(
		try_print(fixture, story_view_print, &(struct view_options){ .width = 1000 }), 0);
	has_line("8 on web-2");
	has("was seen on 2 hosts");
	has_not("It was seen in");
	has("web-2:8/11 puma 1");
	place.tid = 0;
	sample_add_window(&fixture->story, &place, 10, 20, 5);
	assert_int_equal(
		try_print(fixture, story_view_print, &(struct view_options){ .width = 1000 }), 0);
	has("web-2:8/- ");
}

FIXTURE_TEST(story_shows_sums_without_time_and_thread)
{
	static const struct view_options options = { .width = 200 };
	struct fixture *fixture = *state;

	sample_give_record(&fixture->story, "cpu pid=7 request_id=r-1 cpu_ns=77");
	print(fixture, 200);
	has("77 ns");
	has_not("after");
	assert_int_equal(try_print(fixture, print_story_json, &options), 0);
	has("\"cpu_ns\":77");
	has_not("wall_ns");
	has_not("first_ns");
}

FIXTURE_TEST(story_json_thread_has_namespace_tid)
{
	static const struct view_options options = { .width = 200 };
	struct fixture *fixture = *state;
	struct sample sample;

	sample_begin_window(&sample, &own, 10, 20, 5);
	sample_fields(&sample, "ns_tid=3");
	assert_int_equal(sample_give(&sample, &fixture->story), 0);
	sample_add_window(&fixture->story, &helper, 10, 20, 5);
	print_page(fixture, print_story_json, &options);
	has("\"tid\":11,\"ns_tid\":3,");
	has("\"tid\":12,\"thread_name\"");
}

FIXTURE_TEST(story_sorts_threads_by_pid_and_tid)
{
	static const int64_t places[][2] = { { 8, 12 }, { 7, 14 }, { 8, 11 }, { 7, 13 } };
	struct fixture *fixture = *state;
	const char *last;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct sample_place place = { .pid = places[i][0],
						    .tid = places[i][1],
						    .request_id = "r-1" };

		sample_add_window(&fixture->story, &place, 10, 20, 5);
	}
	last = print(fixture, 100);
	for (const char *const *name =
		     (const char *const[]){ "\n7/13 ", "\n7/14 ", "\n8/11 ", "\n8/12 ", NULL };
	     *name; name++) {
		last = strstr(last, *name);
		assert_non_null(last);
	}
}

FIXTURE_TEST(story_reports_earlier_values_of_key)
{
	struct fixture *fixture = *state;
	struct sample_place place = own;

	sample_add_window(&fixture->story, &own, 10, 20, 5);
	print(fixture, 200);
	has("GET /a");
	has_not("it had others before");
	place.endpoint = "GET /z";
	sample_add_window(&fixture->story, &place, 10, 20, 5);
	assert_int_equal(
		try_print(fixture, story_view_print, &(struct view_options){ .width = 200 }), 0);
	has("GET /z (the last one; it had others before)");
}

FIXTURE_TEST(story_json_omits_unknown_members)
{
	static const struct view_options options = { .width = 200 };
	const struct sample_place nameless = { .pid = 7, .tid = 11, .request_id = "r-1" };
	struct fixture *fixture = *state;

	sample_give_at(&fixture->story, "cpu", &nameless, "run_queue_ns=3");
	sample_add_window(&fixture->story, &other, 10, 20, 5);
	print_page(fixture, print_story_json, &options);
	has("\"run_queue_ns\":3");
	has("\"tid\":11");
	has_not("thread_name");
	has_not("cpu_ns");
	has_not("window_ns");
	has_not("percent");
	has_not("\"tid\":13");
}

FIXTURE_TEST(story_limits_named_processes)
{
	struct fixture *fixture = *state;
	struct sample_place place = own;

	for (place.pid = 1; place.pid <= 10; place.pid++)
		sample_add_window(&fixture->story, &place, 10, 20, 5);
	print(fixture, 100);
	has_line("8 on web-1");
	has_line("… 2 more");
}

FIXTURE_TEST(story_reports_losses)
{
	static const struct view_options options = { .width = 1000 };
	struct fixture *fixture = *state;

	tell(&fixture->story);
	fixture->totals.books.losses[COUNTER_SLICE_LOST] = 5;
	sample_add_slice(&fixture->story, &own, "x", 1, 2, 0, 0);
	fixture->story.beside.is_full = true;
	print(fixture, 1000);
	has("5 slices of all threads were lost");
	has("1 records are not shown");
	has("some of what ran meanwhile is missing");
	for (int lost = 0; lost < 2; lost++) {
		fixture->totals.books.losses[COUNTER_SLICE_LOST] = lost;
		assert_int_equal(try_print(fixture, story_view_print, &options), 0);
		assert_int_equal(strstr(printed, "slices of all threads were lost") != NULL, lost);
	}
}

FIXTURE_TEST(story_ranks_request_within_its_endpoint)
{
	struct fixture *fixture = *state;
	struct sample_place place = own;

	sample_add_window(&fixture->story, &own, 0, 60, 500);
	for (int i = 0; i < 3; i++) {
		static const char *const ids[] = { "a", "b", "c" };

		place.request_id = ids[i];
		sample_add_window(&fixture->story, &place, 0, 50, 400 + 200 * (i == 2));
	}
	print(fixture, 1000);
	has_line("wall 60 ns, the longest of all 4 requests of its endpoint");
	has_line("cpu 500 ns, more than 50 % of the 4 requests of its endpoint");
	has_line("26.32 % of the CPU of all observed processes");
}

FIXTURE_TEST(story_escapes_control_characters)
{
	static const struct view_options options = { .width = 200 };
	struct fixture *fixture = *state;
	struct sample_place place = { .host = "h\033",
				      .pid = 7,
				      .tid = 0,
				      .thread_name = "t\033",
				      .request_id = "r\033",
				      .endpoint = "e\033" };

	fixture->story.request_id = "r\033";
	sample_add_window(&fixture->story, &place, 10, 20, 5);
	place.request_id = "o\033";
	sample_add_window(&fixture->story, &place, 10, 20, 5);
	print(fixture, 200);
	has_not("\033");
	has("o\\x1b");
	has("7/-");
	assert_int_equal(try_print(fixture, print_story_json, &options), 0);
	has_not("\033");
}

FIXTURE_TEST(story_reports_wait_for_unobserved_threads)
{
	struct fixture *fixture = *state;
	struct sample_place third = other;

	third.tid = 999;
	tell(&fixture->story);
	sample_add_slice(&fixture->story, &own, "run_queue", 15000000, 16000000, 0, 0);
	sample_add_slice(&fixture->story, &third, "running", 15000000, 15400000, 0, 0);
	sample_add_slice(&fixture->story, &helper, "run_queue", 12000000, 12500000, 0, 0);
	sample_add_slice(&fixture->story, &own, "running", 16000000, 16000001, 0, 0);
	print(fixture, 1000);
	has("waited for that one, 5.400 ms of the 6.500 ms that it waited; the rest went to");
}

FIXTURE_TEST(story_headings_are_bold_on_request)
{
	static const struct view_options options = { .width = 100, .is_bold = true };
	struct fixture *fixture = *state;

	tell(&fixture->story);
	print_page(fixture, story_view_print, &options);
	has("\033[1mafter");
	has("\033[1mran meanwhile");
}

FIXTURE_TEST(story_counts_columns_dropped_on_narrow_screen)
{
	struct fixture *fixture = *state;

	tell(&fixture->story);
	print(fixture, 36);
	has_line("ran meanwhile cpu request_id");
	has("2 more columns on a wider");
}

FIXTURE_TEST(story_lane_grows_to_its_limit_on_wide_screen)
{
	struct fixture *fixture = *state;

	tell(&fixture->story);
	print(fixture, 5000);
	has("13.50 ms");
	assert_true(strlen(printed) > STORY_LANE_CELLS_MAX);
}

FIXTURE_TEST(story_shows_single_character_texts)
{
	static const struct view_options options = { .width = 100 };
	struct fixture *fixture = *state;
	struct sample_place place = {
		.pid = 7, .tid = 9, .thread_name = "t", .request_id = "x", .endpoint = "y"
	};

	sample_add_window(&fixture->story, &own, 10, 20, 5);
	sample_add_window(&fixture->story, &place, 10, 20, 5);
	sample_give_record(&fixture->story, "process pid=7 comm=c");
	print(fixture, 100);
	has_line("7/9 t 5 ns x y");
	has_line("process 7 c on web-1");
	assert_int_equal(try_print(fixture, print_story_json, &options), 0);
	has("{\"request_id\":\"x\",\"endpoint\":\"y\",");
	has("\"tid\":9,\"thread_name\":\"t\",");
	has("\"comm\":\"c\"");
}

FIXTURE_TEST(story_formats_return_enomem_without_memory)
{
	static const struct view_options options = { .width = 100 };
	struct fixture *fixture = *state;
	char text[65536];
	int r = -ENOMEM;

	tell(&fixture->story);
	print(fixture, 100);
	for (size_t i = 0; r == -ENOMEM && i < 20; i++) {
		FILE *out = fmemopen(text, sizeof(text), "w");

		assert_non_null(out);
		memory_fails_after(i);
		r = story_view_print(&fixture->story, &options, out);
		memory_fails_after(SIZE_MAX);
		(void)fclose(out);
	}
	assert_int_equal(r, 0);
	json_set_alloc_funcs(malloc, free);
	assert_each_allocation_can_fail(try_print(fixture, print_story_json, &options), (void)0);
}

/* Another request kept the thread of the request, from and to this many ms behind SAMPLE_NS. */
static void add_frame(struct story *story, const char *id, const char *name)
{
	sample_give_record(story, "stack pid=7 stack_id=\"%s\" name=\"%s\" frame_kind=ruby", id,
			   name);
}

static void add_hog(struct story *story, const char *id, int64_t from_ms, int64_t to_ms)
{
	sample_give_record(story,
			   "stall host_name=web-1 pid=7 tid=11 request_id=%s endpoint=\"GET /h\" "
			   "hog=true start_ns=%ld end_ns=%ld blocked_ns=0 run_queue_ns=0 cpu_ns=1",
			   id, SAMPLE_NS + from_ms * 1000000, SAMPLE_NS + to_ms * 1000000);
}

FIXTURE_TEST(story_names_hogs_that_kept_thread_of_its_request)
{
	struct fixture *fixture = *state;

	sample_add_window(&fixture->story, &own, 10000000, 200000000, 5000000);
	add_hog(&fixture->story, "h-1", 0, 30);
	add_hog(&fixture->story, "h-2", 50, 100);
	add_hog(&fixture->story, "h-3", 100, 101);
	add_hog(&fixture->story, "h-4", 190, 205);
	/* Its own, and one that was over before it began. */
	add_hog(&fixture->story, "r-1", 110, 160);
	add_hog(&fixture->story, "h-5", 5, 9);
	print(fixture, 200);
	has("            meanwhile other fibers kept its thread for 81.00 ms: GET /h (h-2) 50.00 ms, "
	    "GET /h (h-1) 20.00 ms, GET /h (h-4) 10.00 ms, and 1 more\n");
	assert_int_equal(story_held_ns(&fixture->story), 81000000);
}

FIXTURE_TEST(story_names_method_that_hog_was_in)
{
	struct fixture *fixture = *state;

	add_frame(&fixture->story, "1", "Order#total");
	sample_add_window(&fixture->story, &own, 10000000, 200000000, 5000000);
	sample_give_record(&fixture->story,
			   "stall host_name=web-1 pid=7 tid=11 request_id=h-1 endpoint=\"GET /h\" "
			   "hog=true start_ns=%ld end_ns=%ld blocked_ns=0 run_queue_ns=0 cpu_ns=1 "
			   "stack_id=\"1\"",
			   SAMPLE_NS + 50000000, SAMPLE_NS + 60000000);
	print(fixture, 200);
	has("other fibers kept its thread for 10.00 ms: GET /h (h-1) 10.00 ms in Order#total\n");
}

FIXTURE_TEST(story_without_hogs_has_no_sentence_about_them)
{
	struct fixture *fixture = *state;

	sample_add_window(&fixture->story, &own, 10000000, 200000000, 5000000);
	add_hog(&fixture->story, "r-1", 110, 160);
	print(fixture, 200);
	has_not("kept its thread");
	assert_int_equal(story_held_ns(&fixture->story), 0);
}

static void add_samples(struct story *story, const struct sample_place *place, const char *stack_id,
			int64_t samples)
{
	sample_give_at(story, "sample", place, "stack_id=\"%s\" samples=%ld period_ns=10101010",
		       stack_id, samples);
}

static void add_sampled_requests(struct story *story)
{
	add_frame(story, "1", "Order#total");
	add_frame(story, "2", "Cart#show");
	sample_add_window(story, &own, 0, 900000000, 300000000);
	sample_add_window(story, &helper, 0, 900000000, 100000000);
	sample_add_window(story, &other, 0, 900000000, 500000000);
	add_samples(story, &own, "1", 30);
	add_samples(story, &helper, "1", 10);
	add_samples(story, &other, "2", 50);
}

FIXTURE_TEST(story_shows_sampled_stacks_of_its_request)
{
	const struct view_options options = { .width = 100 };
	struct fixture *fixture = *state;
	const char *text;

	add_sampled_requests(&fixture->story);
	text = print_page(fixture, story_view_print, &options);
	assert_non_null(strstr(text,
			       "CPU 400.0 ms, exact; that of 1 context is spread over stacks by "
			       "40 samples."));
	assert_non_null(strstr(text, "   Order#total\n"));
	assert_null(strstr(text, "Cart#show"));
}

/* A wait of a thread, of this many ms. */
static void add_wait(struct story *story, const struct sample_place *place, int64_t ms)
{
	sample_give_at(
		story, "stall", place,
		"start_ns=%ld end_ns=%ld blocked_ns=%ld run_queue_ns=0 blocked_on=futex "
		"syscall=futex stack_id=\"1\" woken_by=thread woken_by_pid=7 woken_by_tid=13 "
		"woken_by_request_id=r-2 woken_by_endpoint=\"GET /b\"",
		SAMPLE_NS, SAMPLE_NS + ms * 1000000, ms * 1000000);
}

FIXTURE_TEST(story_shows_longest_waits_of_its_request)
{
	struct fixture *fixture = *state;

	add_frame(&fixture->story, "1", "Order#total");
	sample_add_window(&fixture->story, &own, 0, 900000000, 300000000);
	sample_add_window(&fixture->story, &other, 0, 900000000, 300000000);
	for (int64_t ms = 1; ms <= 22; ms++)
		add_wait(&fixture->story, &own, ms);
	add_wait(&fixture->story, &other, 500);
	print(fixture, 200);
	has("wait      on     in     file or peer  ended by  in request  thread   began (XYZ)  "
	    "method     \n"
	    "22.00 ms  futex  futex                GET /b    r-2         puma 1  23:13:20.000  "
	    "Order#total\n");
	has("3.000 ms  futex");
	has_not("2.000 ms  futex");
	has_not("500.0 ms  futex");
	has("… 2 shorter waits\n");
}

FIXTURE_TEST(story_json_has_waits_and_hogs_of_its_request)
{
	const struct view_options options = { .format = FORMAT_JSON };
	struct fixture *fixture = *state;
	json_t *document, *stalls, *wait;

	add_frame(&fixture->story, "1", "Order#total");
	sample_add_window(&fixture->story, &own, 0, 900000000, 300000000);
	add_wait(&fixture->story, &own, 7);
	add_wait(&fixture->story, &other, 500);
	add_hog(&fixture->story, "h-1", 100, 130);
	document = json_loads(print_page(fixture, story_view_print, &options), 0, NULL);
	stalls = json_object_get(document, "stalls");
	assert_int_equal(json_array_size(json_object_get(stalls, "stalls")), 1);
	wait = json_array_get(json_object_get(stalls, "stalls"), 0);
	assert_int_equal(json_integer_value(json_object_get(wait, "blocked_ns")), 7000000);
	assert_string_equal(json_string_value(json_object_get(wait, "method")), "Order#total");
	assert_int_equal(json_array_size(json_object_get(stalls, "hogs")), 1);
	json_decref(document);
}

FIXTURE_TEST(story_json_omits_stalls_without_any)
{
	const struct view_options options = { .format = FORMAT_JSON };
	struct fixture *fixture = *state;

	sample_add_window(&fixture->story, &own, 0, 900000000, 300000000);
	add_wait(&fixture->story, &other, 500);
	print_page(fixture, story_view_print, &options);
	has_not("\"stalls\"");
}

FIXTURE_TEST(story_of_short_request_is_told_by_samples_of_its_endpoint)
{
	const struct view_options options = { .width = 100 };
	struct sample_place fellow = other;
	struct fixture *fixture = *state;
	const char *text;

	fellow.endpoint = own.endpoint;
	add_frame(&fixture->story, "2", "Cart#show");
	sample_add_window(&fixture->story, &own, 0, 9000000, 3000000);
	sample_add_window(&fixture->story, &fellow, 0, 9000000, 5000000);
	add_samples(&fixture->story, &fellow, "2", 1);
	text = print_page(fixture, story_view_print, &options);
	assert_non_null(strstr(text,
			       "CPU 3.000 ms, exact; that of 1 context is spread over stacks by 1 "
			       "sample."));
	assert_non_null(strstr(text, "Cart#show"));
}

FIXTURE_TEST(story_json_has_sampled_stacks_of_its_request)
{
	const struct view_options options = { .width = 100 };
	struct fixture *fixture = *state;
	const json_t *all;
	json_t *root;

	add_sampled_requests(&fixture->story);
	root = json_loads(print_page(fixture, print_story_json, &options), JSON_REJECT_DUPLICATES,
			  NULL);
	assert_non_null(root);
	all = json_object_get(json_object_get(root, "stacks"), "all");
	assert_int_equal(json_integer_value(json_object_get(all, "samples")), 40);
	assert_int_equal(json_integer_value(json_object_get(all, "cpu_ns")), 400000000);
	json_decref(root);
}

/* All that sample_add_window() says of its own threads, and of another's. */
static void add_waits(struct story *story)
{
	const struct sample_place *const places[] = { &own, &helper, &other };

	add_frame(story, "3", "Order#lock");
	for (size_t i = 0; i < 3; i++)
		sample_give_at(story, "sample", places[i],
			       "stack_id=\"%s\" waits=4 blocked_ns=2 run_queue_ns=3",
			       i < 2 ? "3" : "2");
}

FIXTURE_TEST(story_shows_off_cpu_stacks_below_sampled_ones)
{
	const struct view_options options = { .width = 100 };
	struct fixture *fixture = *state;
	const char *text, *sampled, *waited;

	add_sampled_requests(&fixture->story);
	add_waits(&fixture->story);
	text = print_page(fixture, story_view_print, &options);
	sampled = strstr(text, "   Order#total\n");
	waited = strstr(text, "   Order#lock\n");
	assert_true(sampled && waited && sampled < waited);
	assert_non_null(strstr(text, "Off the CPU 10 ns"));
	assert_null(strstr(text, "Cart#show"));
}

FIXTURE_TEST(story_json_has_off_cpu_stacks_member)
{
	const struct view_options options = { .width = 100 };
	struct fixture *fixture = *state;
	const json_t *all;
	json_t *root;

	add_sampled_requests(&fixture->story);
	add_waits(&fixture->story);
	root = json_loads(print_page(fixture, print_story_json, &options), JSON_REJECT_DUPLICATES,
			  NULL);
	assert_non_null(root);
	assert_non_null(json_object_get(root, "stacks"));
	all = json_object_get(json_object_get(root, "off_cpu_stacks"), "all");
	assert_int_equal(json_integer_value(json_object_get(all, "waits")), 8);
	assert_int_equal(json_integer_value(json_object_get(all, "off_cpu_ns")), 10);
	json_decref(root);
}

FIXTURE_TEST(story_json_omits_stacks_without_samples)
{
	const struct view_options options = { .width = 100 };
	struct fixture *fixture = *state;

	sample_add_window(&fixture->story, &own, 0, 900000000, 300000000);
	add_frame(&fixture->story, "1", "Order#total");
	add_samples(&fixture->story, &other, "1", 50);
	assert_null(strstr(print_page(fixture, print_story_json, &options), "stacks"));
}

static int forget_printed(void **state)
{
	(void)state;
	free(printed);
	return 0;
}

TEST_GROUP(NULL, forget_printed)
