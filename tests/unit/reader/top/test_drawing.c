/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <locale.h>

#include "unit_test.h"

#include "reader/top/drawing.h"
#include "reader/top/streams.h"
#include "record/golden.h"

static struct history history;
static struct navigation navigation;
static struct listing listing;
static struct drawing drawing;
static struct screen screen;

static void put_meta(const char *mode, bool has_split)
{
	stream_record(&history, 0, "process pid=42 event=found comm=puma");
	stream_record(&history, 0, "meta pid=1 mode=%s kernel_split=%s", mode,
		      has_split ? "true" : "false");
}

static void put_self(uint64_t window, int64_t own_cpu_ns, int64_t program_ns)
{
	struct sample sample;

	sample_record(&sample, "self pid=1 window_ns=%d own_cpu_ns=%ld", STREAM_WINDOW_NS,
		      own_cpu_ns);
	if (program_ns > 0)
		sample_fields(&sample, "bpf_on_switch_runs=100 bpf_on_switch_ns=%ld", program_ns);
	assert_int_equal(stream_put(&history, &sample, stream_end_ns(window)), 0);
}

static void put_request(uint64_t window, int number, const char *endpoint, int64_t cpu_ns)
{
	char id[32];

	(void)snprintf(id, sizeof(id), "req-%d", number);
	stream_cpu(&history, (struct stream_cpu){ .window = window,
						  .tid = 50 + number % 3,
						  .request_id = id,
						  .endpoint = endpoint,
						  .cpu_ns = cpu_ns,
						  .run_queue_ns = cpu_ns / 4,
						  .blocked_ns = cpu_ns * 2,
						  .first_ns = 400000000,
						  .last_ns = 400000000 - 4 * cpu_ns,
						  .thread_name = "puma srv tp 001" });
}

/* Two windows of six routes, among them names that mean harm or are long or wide. */
static void fill(void)
{
	static const char *const endpoints[] = {
		"GET /orders/:id",
		"POST /cart/été/日本語",
		"GET /\033[2J\033]0;title\a\xe2\x80\xae",
		"GET /a/very/long/route/that/goes/on/and/on/until/it/does/not/fit/any/more",
		"GET /cheap",
		"DELETE /session",
	};

	put_meta("exact", true);
	for (int number = 0; number < 24; number++)
		put_request(1 + (uint64_t)number / 12, number, endpoints[number % 6],
			    1000000 * (6 - number % 6) + 1000 * number);
	stream_cpu(&history, (struct stream_cpu){ .window = 2,
						  .tid = 60,
						  .request_id = "slow",
						  .endpoint = "GET /report",
						  .cpu_ns = 2000000,
						  .blocked_ns = 450000000,
						  .uninterruptible_ns = 430000000,
						  .first_ns = 455000000,
						  .last_ns = 20000,
						  .thread_name = "puma srv tp 004" });
	stream_cpu(&history, (struct stream_cpu){ .window = 2,
						  .tid = 61,
						  .request_id = "",
						  .cpu_ns = 500000,
						  .first_ns = 500000000,
						  .thread_name = "puma reactor" });
	put_self(2, 5000000, 12500000);
	stream_balance(&history, 2, 86776000, 86276000, 500000);
	history_close_window(&history);
}

static int setup(void **state)
{
	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	navigation_init(&navigation);
	assert_int_equal(history_init(&history), 0);
	drawing = (struct drawing){
		.listing = &listing, .navigation = &navigation, .source = "pid 42", .status = ""
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	screen_deinit(&screen);
	listing_deinit(&listing);
	history_deinit(&history);
	return 0;
}

static void draw(size_t width, size_t height)
{
	screen_deinit(&screen);
	listing_deinit(&listing);
	assert_int_equal(listing_init(&listing, &history, &navigation, width), 0);
	assert_int_equal(screen_init(&screen, width, height), 0);
	assert_int_equal(drawing_draw(&drawing, &screen), 0);
}

static void press(int key)
{
	enum figure fields[LISTING_COLUMNS_MAX];
	char value[NAVIGATION_VALUE_BYTES];
	struct scene scene;

	listing_scene(&listing, fields, value, &scene);
	scene.page_rows = drawing_page_rows(&drawing, screen.height);
	navigation_take(&navigation, key, &scene);
	draw(screen.width, screen.height);
}

static char *text_of(void)
{
	size_t size_bytes;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size_bytes);

	screen_print(&screen, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* Styles by their initials, where they are not plain, in a line below. */
static void expect(const char *name)
{
	static const char initials[_SCREEN_STYLE_MAX + 1] = ".HBCSFA";
	size_t size_bytes;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size_bytes);

	screen_print(&screen, out);
	(void)fputc('\n', out);
	for (size_t row = 0; row < screen.height; row++) {
		for (size_t column = 0; column < screen.width; column++)
			(void)fputc(initials[screen_at(&screen, row, column)->style], out);
		(void)fputc('\n', out);
	}
	assert_int_equal(fclose(out), 0);
	golden_compare(name, text, size_bytes);
	free(text);
}

static void expect_row(size_t row, const char *expected)
{
	char *text = text_of(), *line = text;

	for (; row > 0; row--)
		line = strchr(line, '\n') + 1;
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, expected);
	free(text);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(drawing_matches_golden_groups_in_three_sizes)
{
	fill();
	draw(120, 30);
	expect("top-120x30.txt");
	draw(80, 24);
	expect("top-80x24.txt");
	draw(40, 10);
	expect("top-40x10.txt");
}

FIXTURE_TEST(drawing_matches_golden_of_other_lists_and_help)
{
	fill();
	draw(100, 16);
	press('2');
	expect("top-in-flight.txt");
	press('3');
	expect("top-threads.txt");
	press('4');
	expect("top-books.txt");
	press('1');
	press(KEY_OF_DOWN);
	press(KEY_OF_ENTER);
	expect("top-requests.txt");
	press(KEY_OF_ENTER);
	expect("top-story.txt");
	press('?');
	expect("top-help.txt");
}

FIXTURE_TEST(drawing_matches_golden_code_of_selected_row)
{
	const struct stream_cpu one = {
		.window = 2, .tid = 43, .request_id = "slow", .endpoint = "GET /orders/:id"
	};

	fill();
	draw(100, 16);
	press('c');
	expect_row(2, "no sample is of it in these windows: they are taken with --stacks");
	stream_frame(&history, 2, "1", "", "main");
	stream_frame(&history, 2, "2", "1", "Order#total");
	stream_sample(&history, one, "2", 12);
	history_close_window(&history);
	navigation.path[1].of[0] = '\0';
	draw(100, 16);
	expect("top-code.txt");
}

FIXTURE_TEST(drawing_limits_height_of_plain_frame_to_its_rows)
{
	fill();
	drawing.is_plain = true;
	draw(160, 1);
	assert_int_equal(drawing_height(&drawing, 20), 2 + 1 + 7 + 2 + 1);
	assert_int_equal(drawing_height(&drawing, 3), 2 + 1 + 3 + 2 + 1);
	draw(160, drawing_height(&drawing, 20));
	expect("top-plain.txt");
}

FIXTURE_TEST(drawing_sums_hidden_rows_in_plain_frame)
{
	fill();
	drawing.is_plain = true;
	draw(100, 1);
	assert_int_equal(listing_show_first(&listing, 4), 0);
	screen_deinit(&screen);
	assert_int_equal(screen_init(&screen, 100, drawing_height(&drawing, 4)), 0);
	assert_int_equal(drawing_draw(&drawing, &screen), 0);
	expect_row(
		7,
		"… 3 more                            9.0  14.11 ms      1.41      0 ns   3.027 ms  474.2 "
		"ms  455.0 ms");
}

FIXTURE_TEST(drawing_scrolls_list_to_selected_row)
{
	fill();
	draw(60, 11);
	/* Head 2, heading 1, unattributed and total 2, foot 2. */
	assert_int_equal(drawing_page_rows(&drawing, 11), 4);
	assert_int_equal(drawing_page_rows(&drawing, 7), 1);
	assert_int_equal(drawing_page_rows(&drawing, 8), 1);
	assert_int_equal(drawing_page_rows(&drawing, 9), 2);
	for (int i = 0; i < 3; i++)
		press(KEY_OF_DOWN);
	assert_int_equal(screen_at(&screen, 6, 0)->style, SCREEN_SELECTED);
	expect_row(3, "GET /orders/:id            4.0  24.04 ms      2.40  24.07 ms");
}

FIXTURE_TEST(drawing_scrolls_books_from_first_to_last_line)
{
	char last[512];
	size_t size_bytes;
	const char *text;

	fill();
	draw(80, 12);
	press('4');
	text = listing.text;
	size_bytes = strlen(text) - 1;
	while (text[size_bytes - 1] != '\n')
		size_bytes--;
	(void)snprintf(last, sizeof(last), "%s", text + size_bytes);
	last[strcspn(last, "\n")] = '\0';
	assert_true(listing.row_count > 8);
	press(KEY_OF_END);
	expect_row(9, last);
	press(KEY_OF_HOME);
	expect_row(2, "the books");
}

FIXTURE_TEST(drawing_counts_story_records_left_out)
{
	for (int i = 0; i < LISTING_STORY_MAX; i++)
		put_request(1, 1, "GET /a", 1000);
	history_close_window(&history);
	navigation.depth = 2;
	navigation.path[1] = (struct navigation_place){ .list = LIST_STORY, .of = "req-1" };
	draw(100, 12);
	assert_int_equal(listing.row_count, LISTING_STORY_MAX);
	expect_row(10, "residual - ns  losses 0   without split  own -");
	put_request(1, 1, "GET /a", 1000);
	history_close_window(&history);
	draw(100, 12);
	assert_int_equal(listing.row_count, LISTING_STORY_MAX);
	expect_row(10, "residual - ns  losses 0   without split  own -  1 records left out");
}

FIXTURE_TEST(drawing_reports_needed_size_on_small_screen)
{
	fill();
	draw(39, 30);
	expect_row(0, "too small:");
	expect_row(1, "40x10 needed");
	draw(40, 9);
	expect_row(0, "too small:");
	draw(5, 1);
	expect_row(0, "too s");
	/* What nobody looks at needs no room. */
	drawing.is_plain = true;
	draw(40, 9);
	expect_row(0, "pid 42  22:13:21  last 1.000 s");
}

FIXTURE_TEST(drawing_shows_status_before_first_window)
{
	draw(60, 10);
	/* Heading, its list's heading, and the reason, between what frames them. */
	assert_int_equal(drawing_height(&drawing, 20), 6);
	expect_row(0, "pid 42");
	expect_row(3, "waiting for the first window");
	drawing.status = "correlator: observing 42";
	draw(60, 10);
	expect_row(3, "correlator: observing 42");
	expect_row(8, "");
}

FIXTURE_TEST(drawing_explains_empty_list)
{
	stream_record(&history, 1, "gap pid=1");
	history_close_window(&history);
	draw(80, 12);
	expect_row(4, "nothing ran in these windows");
	press('3');
	expect_row(4, "nothing ran in these windows");
	press('2');
	expect_row(3, "no request_id is recorded: see -k");
	stream_cpu(&history,
		   (struct stream_cpu){ .window = 2, .tid = 61, .cpu_ns = 7, .request_id = "r" });
	history_close_window(&history);
	press('1');
	(void)strcpy(navigation.by, "endpoint");
	draw(80, 12);
	expect_row(6, "what ran in these windows has no such key");
	navigation.by[0] = '\0';
	fill();
	history_close_window(&history);
	stream_balance(&history, 3, 1, 1, 0);
	history_close_window(&history);
	press('2');
	expect_row(3, "no request was being worked for");
	navigation.depth = 2;
	navigation.path[1] = (struct navigation_place){ .list = LIST_STORY, .of = "gone" };
	draw(80, 12);
	expect_row(3, "nothing is left of it in these windows");
	navigation.depth = 1;
	(void)strcpy(navigation.filter, "x=y");
	draw(80, 12);
	expect_row(3, "the filter lets nothing pass: / changes it, Esc takes it away");
}

FIXTURE_TEST(drawing_title_shows_time_span_and_status)
{
	fill();
	draw(80, 12);
	expect_row(0, "correlator top  pid 42  22:13:21  last 1.000 s");
	drawing.status = "THE TARGET HAS ENDED";
	press('w');
	expect_row(0, "correlator top  pid 42  22:13:21  THE TARGET HAS ENDED  all of 1.000 s");
	press('w');
	press('[');
	expect_row(0, "correlator top  pid 42  22:13:20  FROZEN, 1 back  last 500.0 ms");
	assert_int_equal(screen_at(&screen, 0, 34)->style, SCREEN_CURRENT);
	draw(79, 12);
	expect_row(0, "pid 42  22:13:20  FROZEN, 1 back  last 500.0 ms");
}

FIXTURE_TEST(drawing_marks_sort_column_and_direction)
{
	fill();
	draw(60, 12);
	expect_row(2, "endpoint                 req/s      cpu▼     % CPU  wall p99");
	press('r');
	expect_row(2, "endpoint                 req/s      cpu▲     % CPU  wall p99");
	press('<');
	expect_row(2, "endpoint                req/s▲       cpu     % CPU  wall p99");
}

FIXTURE_TEST(drawing_replaces_panes_by_place_on_narrow_screen)
{
	fill();
	draw(60, 12);
	expect_row(1, "1 groups 2 in flight 3 threads 4 books");
	(void)strcpy(navigation.filter, "req");
	draw(60, 12);
	expect_row(1, "only req");
	press('2');
	expect_row(1, "only req");
	navigation.filter[0] = '\0';
	navigation.depth = 2;
	navigation.path[1] = (struct navigation_place){ .list = LIST_STORY, .of = "slow" };
	draw(60, 12);
	expect_row(1, "the story of slow");
}

FIXTURE_TEST(drawing_shows_filter_while_typed)
{
	fill();
	draw(80, 12);
	press('/');
	press('a');
	expect_row(11, "only: a_");
	assert_int_equal(screen_at(&screen, 11, 0)->style, SCREEN_HEADING);
}

FIXTURE_TEST(drawing_highlights_accounting_errors_as_alarm)
{
	put_meta("lean", false);
	stream_balance(&history, 1, 1000000, 900000, 0);
	stream_record(&history, 1,
		      "balance pid=42 window_ns=%d exec_ns=0 attributed_ns=0 unattributed_ns=0 "
		      "overflow_ns=0 residual_ns=0 events_lost=3 contexts_inherited=50 "
		      "switches_unseen=70",
		      STREAM_WINDOW_NS);
	stream_record(&history, 1, "gap pid=1 dropped_records=2");
	put_self(1, 5000000, 0);
	history.left_out = 4;
	history_close_window(&history);
	draw(100, 12);
	expect_row(10, "residual 100,000 ns  losses 5  lean without split  own 1.0 % + ?  "
		       "4 records left out");
	assert_int_equal(screen_at(&screen, 10, 0)->style, SCREEN_ALARM);
	assert_int_equal(screen_at(&screen, 10, 19)->style, SCREEN_BAR);
	assert_int_equal(screen_at(&screen, 10, 21)->style, SCREEN_ALARM);
	assert_int_equal(screen_at(&screen, 10, 32)->style, SCREEN_BAR);
	assert_int_equal(screen_at(&screen, 10, 66)->style, SCREEN_ALARM);
}

FIXTURE_TEST(drawing_shows_dash_without_balance_and_self_records)
{
	put_request(1, 1, "GET /a", 1000);
	history_close_window(&history);
	draw(100, 12);
	expect_row(10, "residual - ns  losses 0   without split  own -");
}
