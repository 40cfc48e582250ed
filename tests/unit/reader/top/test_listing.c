/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <locale.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/report/table.h"
#include "reader/top/listing.h"
#include "reader/top/streams.h"

static struct history history;
static struct navigation navigation;
static struct listing listing;

/* Four windows: /slow waits in all of them, /busy burns more and more. */
static void fill(void)
{
	for (uint64_t window = 1; window <= 4; window++) {
		char id[8];

		(void)snprintf(id, sizeof(id), "b%d", (int)window);
		stream_cpu(&history, (struct stream_cpu){ .window = window,
							  .tid = 1,
							  .request_id = id,
							  .endpoint = "GET /busy",
							  .cpu_ns = (int64_t)window * 1000000,
							  .first_ns = 300000000,
							  .last_ns = 200000000 });
		stream_cpu(&history, (struct stream_cpu){ .window = window,
							  .tid = 2,
							  .request_id = "s1",
							  .endpoint = "GET /slow",
							  .cpu_ns = 1000,
							  .blocked_ns = 499000000,
							  .first_ns = 500000000,
							  .last_ns = 10000 });
		stream_cpu(&history, (struct stream_cpu){ .window = window,
							  .tid = 3,
							  .request_id = "",
							  .cpu_ns = 7000,
							  .first_ns = 500000000,
							  .last_ns = 0 });
		stream_balance(&history, window, (int64_t)window * 1000000 + 8000,
			       (int64_t)window * 1000000 + 1000, 7000);
	}
	history_close_window(&history);
}

static int setup(void **state)
{
	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	navigation_init(&navigation);
	assert_int_equal(history_init(&history), 0);
	fill();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	memory_never_fails();
	listing_deinit(&listing);
	history_deinit(&history);
	return 0;
}

static void list(void)
{
	listing_deinit(&listing);
	assert_int_equal(listing_init(&listing, &history, &navigation, 100), 0);
}

static void press(int key)
{
	enum figure fields[LISTING_COLUMNS_MAX];
	char value[NAVIGATION_VALUE_BYTES];
	struct scene scene;

	list();
	listing_scene(&listing, fields, value, &scene);
	scene.page_rows = 5;
	navigation_take(&navigation, key, &scene);
	list();
}

/* The values of the rows, one after the other. */
static void expect_rows(const char *expected)
{
	char values[512] = "", value[NAVIGATION_VALUE_BYTES];

	for (size_t row = 0; row < listing.row_count; row++) {
		listing_value(&listing, row, value);
		(void)strcat(strcat(values, row > 0 ? "," : ""), value);
	}
	assert_string_equal(values, expected);
}

static void expect_cell(size_t row, int field, const char *expected)
{
	char cell[TABLE_CELL_BYTES];

	for (size_t column = 0; column < listing.field_count; column++) {
		if (listing.fields[column].field != field)
			continue;
		listing_cell(&listing, row, column, cell);
		assert_string_equal(cell + strspn(cell, " "), expected);
		return;
	}
	fail_msg("there is no such column");
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(listing_groups_cover_chosen_span)
{
	list();
	expect_rows("GET /busy,GET /slow");
	expect_cell(0, FIGURE_CPU, "10.00 ms");
	expect_cell(0, FIGURE_REQUESTS, "4");
	expect_cell(1, FIGURE_REQUESTS, "1");
	expect_cell(1, FIGURE_WALL_P99, "2.000 s");
	assert_int_equal(listing.start_ns, stream_end_ns(0));
	assert_int_equal(listing.end_ns, stream_end_ns(4));
	navigation.span = SPAN_WINDOW;
	list();
	expect_cell(0, FIGURE_CPU, "4.000 ms");
	expect_cell(0, FIGURE_RATE, "2.0");
	expect_cell(0, FIGURE_CPU_PERCENT, "0.80");
	assert_int_equal(listing.start_ns, stream_end_ns(3));
	assert_int_equal(listing.frame.books.exec_ns, 4008000);
	assert_int_equal(listing.frame.all.record_count, 0);
}

FIXTURE_TEST(listing_last_seconds_span_covers_ten_seconds)
{
	for (uint64_t window = 5; window <= 30; window++)
		stream_balance(&history, window, 1, 1, 0);
	list();
	/* The last one is open. */
	assert_int_equal(listing.last, 28);
	assert_int_equal(listing.first, 9);
	assert_int_equal(listing.end_ns - listing.start_ns, 10000000000);
	navigation.span = SPAN_ALL;
	list();
	assert_int_equal(listing.first, 0);
}

FIXTURE_TEST(listing_last_seconds_span_handles_windows_near_epoch)
{
	history_deinit(&history);
	assert_int_equal(history_init(&history), 0);
	for (uint64_t second = 1; second <= 3; second++) {
		struct sample sample;

		sample_begin_cpu(&sample, 42, 1, "r", 1, 0);
		sample_fields(&sample, "window_ns=1000000000");
		assert_int_equal(stream_put(&history, &sample, second * 1000000000), 0);
	}
	history_close_window(&history);
	list();
	assert_int_equal(listing.first, 0);
	assert_int_equal(listing.start_ns, 0);
	assert_int_equal(listing.end_ns, 3000000000);
}

FIXTURE_TEST(listing_frozen_shows_its_window_or_oldest)
{
	navigation.span = SPAN_WINDOW;
	navigation.is_frozen = true;
	navigation.frozen_at = 1;
	list();
	expect_cell(0, FIGURE_CPU, "2.000 ms");
	assert_int_equal(listing.last, 1);
	assert_int_equal(listing.newest, 3);
	navigation.frozen_at = 99;
	list();
	assert_int_equal(listing.last, 3);
	/* Its window is gone: the oldest there is. */
	history.bytes_max = 1;
	stream_balance(&history, 5, 1, 1, 0);
	history_close_window(&history);
	navigation.frozen_at = 1;
	list();
	assert_int_equal(listing.last, 4);
}

FIXTURE_TEST(listing_cycles_through_recorded_group_keys)
{
	list();
	assert_string_equal(listing.by, "endpoint");
	press('g');
	assert_string_equal(listing.by, "pid");
	expect_rows("42");
	press('g');
	assert_string_equal(listing.by, "comm");
	press('g');
	press('g');
	assert_string_equal(listing.by, "host_name");
	expect_rows("web-1");
	press('g');
	assert_string_equal(listing.by, "request_id");
	expect_rows("b4,b3,b2,b1,s1");
	press('g');
	assert_string_equal(listing.by, "endpoint");
}

FIXTURE_TEST(listing_sorts_rows_and_reverses_them)
{
	navigation.orders[LIST_GROUPS].field = FIGURE_BLOCKED;
	list();
	expect_rows("GET /slow,GET /busy");
	press('r');
	expect_rows("GET /busy,GET /slow");
	navigation.orders[LIST_GROUPS].field = FIGURE_KEY;
	navigation.by[0] = '\0';
	(void)strcpy(navigation.by, "request_id");
	list();
	expect_rows("s1,b4,b3,b2,b1");
}

FIXTURE_TEST(listing_filters_by_name_ignoring_case_or_by_condition)
{
	(void)strcpy(navigation.filter, "SLO");
	list();
	expect_rows("GET /slow");
	assert_int_equal(listing.rows.other_count, 2);
	(void)strcpy(navigation.filter, "nothing");
	list();
	expect_rows("");
	(void)strcpy(navigation.filter, "endpoint=GET /busy");
	list();
	expect_rows("GET /busy");
	(void)strcpy(navigation.filter, "request_id~b[12]");
	list();
	expect_cell(0, FIGURE_CPU, "3.000 ms");
	/* Names beside the value count, too. */
	(void)strcpy(navigation.filter, "worker");
	press('3');
	expect_rows("1,3,2");
	(void)strcpy(navigation.filter, "slow");
	press('2');
	expect_rows("s1");
	(void)strcpy(navigation.filter, "busy");
	list();
	expect_rows("");
}

FIXTURE_TEST(listing_in_flight_shows_age_state_and_thread)
{
	navigation.span = SPAN_WINDOW;
	press('2');
	expect_rows("s1");
	expect_cell(0, FIGURE_WALL, "2.000 s");
	expect_cell(0, FIGURE_CPU, "4.000 us");
	expect_cell(0, FIGURE_ENDPOINT, "GET /slow");
	expect_cell(0, LISTING_STATE, "blocked");
	expect_cell(0, LISTING_THREAD, "2 worker");
	assert_int_equal(listing.rows.other_count, 0);
	/* Where one looked at it. */
	press('[');
	expect_cell(0, FIGURE_CPU, "3.000 us");
}

FIXTURE_TEST(listing_threads_include_unattributed_time)
{
	press('3');
	expect_rows("1,3,2");
	expect_cell(1, FIGURE_CPU, "28.00 us");
	expect_cell(1, FIGURE_THREAD_NAME, "worker");
	expect_cell(0, FIGURE_KEY, "42/1");
}

FIXTURE_TEST(listing_opens_requests_of_group_and_story_of_request)
{
	press(KEY_OF_ENTER);
	expect_rows("b4,b3,b2,b1");
	assert_int_equal(listing.rows.other_count, 1);
	assert_int_equal(rows_at(&listing.rows, 4).costs->sums[COST_CPU], 10000000);
	expect_cell(0, FIGURE_WALL, "100.0 ms");
	press(KEY_OF_ESCAPE);
	press(KEY_OF_DOWN);
	press(KEY_OF_ENTER);
	expect_rows("s1");
	press(KEY_OF_ENTER);
	assert_int_equal(listing.row_count, 4);
	expect_cell(0, LISTING_AT, "500.0 ms");
	expect_cell(3, LISTING_AT, "2.000 s");
	expect_cell(3, LISTING_THREAD, "2 worker");
	expect_cell(3, FIGURE_CPU, "1.000 us");
	expect_cell(3, FIGURE_BLOCKED, "499.0 ms");
	expect_cell(3, FIGURE_SYSCALLS, "7");
	expect_cell(3, LISTING_BAR, "█───────────────────");
	press('[');
	assert_int_equal(listing.row_count, 3);
}

FIXTURE_TEST(listing_bar_shows_states_and_is_clamped_to_window)
{
	stream_cpu(&history, (struct stream_cpu){ .window = 5,
						  .request_id = "bar",
						  .cpu_ns = 250000000,
						  .run_queue_ns = 100000000,
						  .blocked_ns = 26000000 });
	stream_cpu(&history, (struct stream_cpu){ .window = 5,
						  .request_id = "bar",
						  .cpu_ns = 600000000,
						  .run_queue_ns = 1 });
	history_close_window(&history);
	press('2');
	(void)strcpy(navigation.filter, "");
	navigation.depth = 2;
	navigation.path[1] = (struct navigation_place){ .list = LIST_STORY, .of = "bar" };
	list();
	assert_int_equal(listing.row_count, 2);
	expect_cell(0, LISTING_BAR, "██████████▒▒▒▒──");
	expect_cell(1, LISTING_BAR, "████████████████████");
}

FIXTURE_TEST(listing_opens_requests_of_thread)
{
	press('3');
	press(KEY_OF_END);
	press(KEY_OF_ENTER);
	assert_string_equal(navigation_place(&navigation)->of, "tid=2");
	expect_rows("s1");
	(void)strcpy(navigation.by, "tid");
	navigation.depth = 1;
	navigation.path[0] = (struct navigation_place){ .list = LIST_GROUPS };
	list();
	expect_rows("1,3,2");
	press(KEY_OF_ENTER);
	expect_rows("b4,b3,b2,b1");
}

FIXTURE_TEST(listing_selection_follows_row_value)
{
	list();
	assert_int_equal(listing.selected, 0);
	press(KEY_OF_DOWN);
	assert_int_equal(listing.selected, 1);
	press('r');
	assert_int_equal(listing.selected, 0);
	press('r');
	assert_int_equal(listing.selected, 1);
	(void)strcpy(navigation.filter, "busy");
	list();
	assert_int_equal(listing.selected, 0);
	(void)strcpy(navigation.filter, "none");
	list();
	assert_int_equal(listing.selected, 0);
	/* One of a letter, too. */
	navigation.filter[0] = '\0';
	press('3');
	press(KEY_OF_DOWN);
	assert_string_equal(navigation_place(&navigation)->value, "3");
	press('r');
	press('r');
	press('r');
	assert_string_equal(navigation_place(&navigation)->value, "3");
}

FIXTURE_TEST(listing_books_are_split_into_lines)
{
	size_t lines = 0;

	press('4');
	for (const char *at = listing.text; *at; at++)
		lines += *at == '\n';
	assert_int_equal(listing.row_count, lines);
	assert_memory_equal(listing.text, "the books\n", 10);
	assert_non_null(strstr(listing.text, "0 ns  = 0.00 ppm"));
	press(KEY_OF_END);
	assert_int_equal(listing.selected, lines - 1);
}

FIXTURE_TEST(listing_is_empty_without_windows)
{
	enum figure fields[LISTING_COLUMNS_MAX];
	char value[NAVIGATION_VALUE_BYTES] = "x";
	struct scene scene;

	history_deinit(&history);
	assert_int_equal(history_init(&history), 0);
	list();
	assert_false(listing.has_windows);
	assert_int_equal(listing.row_count, 0);
	listing_scene(&listing, fields, value, &scene);
	assert_false(scene.has_windows);
	assert_string_equal(value, "");
	assert_string_equal(listing.by, "pid");
}

FIXTURE_TEST(listing_scene_describes_selection_and_columns)
{
	enum figure fields[LISTING_COLUMNS_MAX];
	char value[NAVIGATION_VALUE_BYTES];
	struct scene scene;

	press(KEY_OF_DOWN);
	listing_scene(&listing, fields, value, &scene);
	assert_string_equal(scene.value, "GET /slow");
	assert_int_equal(scene.first, 0);
	assert_int_equal(scene.last, 3);
	assert_int_equal(scene.row_count, 2);
	assert_int_equal(scene.field_count, 14);
	assert_int_equal(fields[0], FIGURE_KEY);
	assert_int_equal(fields[13], FIGURE_SYSCALLS_MEAN);
	press('2');
	listing_scene(&listing, fields, value, &scene);
	assert_int_equal(scene.field_count, 9);
	press('4');
	listing_scene(&listing, fields, value, &scene);
	assert_int_equal(scene.field_count, 0);
}

/* In the last window. */
static void fill_code(void)
{
	stream_frame(&history, 4, "1", "", "main");
	stream_frame(&history, 4, "2", "1", "Order#total");
	stream_frame(&history, 4, "3", "1", "Slow#wait");
	stream_sample(&history,
		      (struct stream_cpu){
			      .window = 4, .tid = 1, .request_id = "b4", .endpoint = "GET /busy" },
		      "2", 3);
	stream_sample(&history,
		      (struct stream_cpu){
			      .window = 4, .tid = 2, .request_id = "s1", .endpoint = "GET /slow" },
		      "3", 1);
	history_close_window(&history);
}

FIXTURE_TEST(listing_code_shows_wait_stacks_below_samples)
{
	const struct stream_cpu busy = { .window = 4,
					 .tid = 1,
					 .request_id = "b4",
					 .endpoint = "GET /busy",
					 .blocked_ns = 1000000 };
	const char *sampled, *waited;

	stream_frame(&history, 4, "4", "1", "Order#lock");
	stream_cpu(&history, busy);
	stream_wait(&history, busy, "4");
	fill_code();
	press('c');
	sampled = strstr(listing.text, "Order#total");
	waited = strstr(listing.text, "Order#lock");
	assert_true(sampled && waited && sampled < waited);
	assert_non_null(strstr(listing.text, "Off the CPU "));
}

FIXTURE_TEST(listing_code_is_limited_to_row_filter_and_span)
{
	fill_code();
	press('c');
	assert_non_null(strstr(listing.text,
			       "CPU 10.00 ms, exact; that of 4 contexts is "
			       "spread over stacks by 3 samples. 4 (10.00 ms) are too"));
	assert_non_null(strstr(listing.text, "Order#total"));
	assert_null(strstr(listing.text, "Slow#wait"));
	assert_true(listing.row_count > 4);
	press(KEY_OF_ESCAPE);
	press('/');
	press('s');
	press(KEY_OF_ENTER);
	press('c');
	assert_string_equal(navigation_place(&navigation)->of, "endpoint=GET /busy");
	press(KEY_OF_ESCAPE);
	(void)strcpy(navigation.filter, "request_id=s1");
	press('4');
	press('c');
	assert_non_null(strstr(listing.text, "Slow#wait"));
	assert_null(strstr(listing.text, "Order#total"));
	(void)strcpy(navigation.filter, "slow");
	list();
	assert_non_null(strstr(listing.text, "Order#total"));
	navigation.filter[0] = '\0';
	/* It scrolls. */
	press(KEY_OF_END);
	assert_int_equal(listing.selected, listing.row_count - 1);
	/* The window before has none. */
	press('w');
	press('w');
	press('[');
	assert_null(listing.text);
	assert_int_equal(listing.row_count, 0);
}

FIXTURE_TEST(listing_fails_with_enomem_when_allocation_fails)
{
	static const char keys[] = "1234c";

	fill_code();
	for (size_t i = 0; i < sizeof(keys) - 1; i++) {
		press(keys[i]);
		listing_deinit(&listing);
		assert_each_allocation_can_fail(listing_init(&listing, &history, &navigation, 100),
						listing_deinit(&listing));
		listing_deinit(&listing);
	}
}
