/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "unit_test.h"

#include "reader/top/navigation.h"

static struct navigation navigation;
static struct scene scene;

static const enum figure fields[] = { FIGURE_KEY, FIGURE_CPU, FIGURE_BLOCKED };
static const char *const by_names[] = { "request_id", "endpoint", "pid" };

static int setup(void **state)
{
	(void)state;
	navigation_init(&navigation);
	scene = (struct scene){ .first = 10,
				.last = 20,
				.has_windows = true,
				.row_count = 5,
				.page_rows = 3,
				.value = "GET /a",
				.fields = fields,
				.field_count = 3,
				.by = "endpoint",
				.by_names = by_names,
				.by_count = 3 };
	return 0;
}

static void take(int key)
{
	navigation_take(&navigation, key, &scene);
}

static void type(const char *text)
{
	for (; *text; text++)
		take((unsigned char)*text);
}

static const struct navigation_place *place(void)
{
	return navigation_place(&navigation);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, NULL)

FIXTURE_TEST(navigation_starts_with_groups_of_last_seconds_by_cpu)
{
	assert_int_equal(place()->list, LIST_GROUPS);
	assert_int_equal(navigation.span, SPAN_SECONDS);
	assert_int_equal(navigation_order(&navigation)->field, FIGURE_CPU);
	assert_int_equal(navigation.orders[LIST_REQUESTS].field, FIGURE_CPU);
	assert_int_equal(navigation.orders[LIST_IN_FLIGHT].field, FIGURE_WALL);
	assert_false(navigation.is_frozen);
}

FIXTURE_TEST(navigation_selects_panes_by_digit_and_tab)
{
	for (int pane = 0; pane < _LIST_PANES; pane++) {
		take('1' + pane);
		assert_int_equal(place()->list, pane);
	}
	for (int pane = 0; pane < 2 * _LIST_PANES; pane++) {
		take('\t');
		assert_int_equal(place()->list, pane % _LIST_PANES);
	}
	take('5');
	assert_int_equal(place()->list, LIST_BOOKS);
}

FIXTURE_TEST(navigation_enter_descends_to_story_and_escape_returns)
{
	take(KEY_OF_ENTER);
	assert_int_equal(place()->list, LIST_REQUESTS);
	assert_string_equal(place()->of, "endpoint=GET /a");
	scene.value = "r1";
	take(KEY_OF_ENTER);
	assert_int_equal(place()->list, LIST_STORY);
	assert_string_equal(place()->of, "r1");
	take(KEY_OF_ENTER);
	assert_int_equal(navigation.depth, 3);
	take(KEY_OF_ESCAPE);
	assert_int_equal(place()->list, LIST_REQUESTS);
	take(KEY_OF_BACKSPACE);
	assert_int_equal(place()->list, LIST_GROUPS);
	take(KEY_OF_ESCAPE);
	assert_int_equal(navigation.depth, 1);
	take(KEY_OF_ENTER);
	take('3');
	assert_int_equal(navigation.depth, 1);
	assert_int_equal(place()->list, LIST_THREADS);
}

FIXTURE_TEST(navigation_enter_target_depends_on_row_key)
{
	scene.by = "request_id";
	scene.value = "r1";
	take(KEY_OF_ENTER);
	assert_int_equal(place()->list, LIST_STORY);
	assert_string_equal(place()->of, "r1");
	take('2');
	take(KEY_OF_ENTER);
	assert_int_equal(place()->list, LIST_STORY);
	take('3');
	scene.by = "tid";
	scene.value = "77";
	take(KEY_OF_ENTER);
	assert_int_equal(place()->list, LIST_REQUESTS);
	assert_string_equal(place()->of, "tid=77");
	take('4');
	take(KEY_OF_ENTER);
	assert_int_equal(place()->list, LIST_BOOKS);
	take('1');
	scene.value = "";
	take(KEY_OF_ENTER);
	assert_int_equal(place()->list, LIST_GROUPS);
}

FIXTURE_TEST(navigation_cycles_sort_column_and_reverses_order)
{
	take('>');
	assert_int_equal(navigation_order(&navigation)->field, FIGURE_BLOCKED);
	take('s');
	assert_int_equal(navigation_order(&navigation)->field, FIGURE_KEY);
	take('<');
	assert_int_equal(navigation_order(&navigation)->field, FIGURE_BLOCKED);
	take('S');
	assert_int_equal(navigation_order(&navigation)->field, FIGURE_CPU);
	assert_false(navigation_order(&navigation)->is_reversed);
	take('r');
	assert_true(navigation_order(&navigation)->is_reversed);
	/* Of this list alone. */
	assert_false(navigation.orders[LIST_THREADS].is_reversed);
	take('r');
	assert_false(navigation_order(&navigation)->is_reversed);
	scene.field_count = 0;
	take('>');
	assert_int_equal(navigation_order(&navigation)->field, FIGURE_CPU);
}

FIXTURE_TEST(navigation_replaces_sort_column_that_is_not_shown)
{
	navigation.orders[LIST_GROUPS].field = FIGURE_STOLEN;
	take('>');
	assert_int_equal(navigation_order(&navigation)->field, FIGURE_CPU);
	navigation.orders[LIST_GROUPS].field = FIGURE_STOLEN;
	take('<');
	assert_int_equal(navigation_order(&navigation)->field, FIGURE_BLOCKED);
}

FIXTURE_TEST(navigation_cycles_grouping_key)
{
	take('g');
	assert_string_equal(navigation.by, "pid");
	scene.by = "pid";
	take('g');
	assert_string_equal(navigation.by, "request_id");
	take('3');
	take('g');
	assert_string_equal(navigation.by, "request_id");
	take('1');
	scene.by_count = 0;
	take('g');
	assert_string_equal(navigation.by, "request_id");
}

FIXTURE_TEST(navigation_space_toggles_freeze)
{
	take(' ');
	assert_true(navigation.is_frozen);
	assert_int_equal(navigation.frozen_at, 20);
	scene.last = 25;
	take(' ');
	assert_false(navigation.is_frozen);
	scene.has_windows = false;
	take(' ');
	assert_false(navigation.is_frozen);
	take('[');
	assert_false(navigation.is_frozen);
}

FIXTURE_TEST(navigation_steps_through_available_windows)
{
	take('[');
	assert_true(navigation.is_frozen);
	assert_int_equal(navigation.frozen_at, 19);
	take(KEY_OF_LEFT);
	assert_int_equal(navigation.frozen_at, 18);
	take(']');
	take(KEY_OF_RIGHT);
	assert_int_equal(navigation.frozen_at, 20);
	assert_int_equal(navigation.span, SPAN_SECONDS);
	take(']');
	assert_int_equal(navigation.frozen_at, 20);
	scene.first = 19;
	take('[');
	take('[');
	assert_int_equal(navigation.frozen_at, 19);
}

FIXTURE_TEST(navigation_cycles_time_span)
{
	take('w');
	assert_int_equal(navigation.span, SPAN_ALL);
	take('w');
	assert_int_equal(navigation.span, SPAN_WINDOW);
	take('w');
	assert_int_equal(navigation.span, SPAN_SECONDS);
}

FIXTURE_TEST(navigation_keeps_selection_within_list)
{
	static const struct {
		int key;
		size_t selected;
	} keys[] = {
		{ KEY_OF_UP, 0 },   { KEY_OF_DOWN, 1 },	     { 'j', 2 },
		{ 'k', 1 },	    { KEY_OF_PAGE_DOWN, 4 }, { KEY_OF_DOWN, 4 },
		{ KEY_OF_UP, 3 },   { KEY_OF_PAGE_UP, 0 },   { KEY_OF_END, 4 },
		{ KEY_OF_HOME, 0 },
	};

	assert_false(place()->has_picked);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		take(keys[i].key);
		assert_int_equal(place()->selected, keys[i].selected);
		assert_true(place()->has_picked);
	}
	scene.row_count = 0;
	take(KEY_OF_DOWN);
	assert_int_equal(place()->selected, 0);
}

FIXTURE_TEST(navigation_settle_tracks_picked_row_by_value)
{
	navigation_settle(&navigation, 0, "GET /a");
	assert_string_equal(place()->value, "");
	take(KEY_OF_DOWN);
	navigation_settle(&navigation, 1, "GET /b");
	assert_string_equal(place()->value, "GET /b");
	navigation_settle(&navigation, 3, "GET /b");
	assert_int_equal(place()->selected, 3);
	take(KEY_OF_DOWN);
	assert_string_equal(place()->value, "");
	assert_int_equal(place()->selected, 4);
}

FIXTURE_TEST(navigation_filter_is_edited_accepted_and_cancelled)
{
	take('/');
	assert_true(navigation.is_typing);
	type("qx[");
	take(KEY_OF_BACKSPACE);
	take(0xe9);
	take(KEY_OF_LEFT);
	assert_string_equal(navigation.typed, "qx\xc3\xa9");
	assert_string_equal(navigation.filter, "");
	assert_false(navigation.has_quit);
	take(KEY_OF_ENTER);
	assert_false(navigation.is_typing);
	assert_string_equal(navigation.filter, "qx\xc3\xa9");
	assert_int_equal(navigation.depth, 1);
	/* It goes on from there. */
	take('/');
	take(KEY_OF_BACKSPACE);
	assert_string_equal(navigation.typed, "qx");
	take(KEY_OF_ESCAPE);
	assert_false(navigation.is_typing);
	assert_string_equal(navigation.filter, "qx\xc3\xa9");
	take(KEY_OF_ESCAPE);
	assert_string_equal(navigation.filter, "");
	take('/');
	take(KEY_OF_BACKSPACE);
	assert_string_equal(navigation.typed, "");
}

FIXTURE_TEST(navigation_filter_is_bounded_and_escapes_controls)
{
	take('/');
	take('\t');
	take(0x9b);
	assert_string_equal(navigation.typed, "\\xc2\\x9b");
	for (int i = 0; i < 2 * NAVIGATION_FILTER_BYTES; i++)
		take('x');
	assert_int_equal(strlen(navigation.typed), NAVIGATION_FILTER_BYTES - 1);
}

FIXTURE_TEST(navigation_shows_help_until_next_key)
{
	take('?');
	assert_true(navigation.shows_help);
	take('q');
	assert_false(navigation.shows_help);
	assert_false(navigation.has_quit);
	take('h');
	assert_true(navigation.shows_help);
	take(' ');
	assert_false(navigation.is_frozen);
	take('q');
	assert_true(navigation.has_quit);
}

FIXTURE_TEST(filter_is_condition_only_if_it_starts_with_key)
{
	assert_true(navigation_filter_is_condition("endpoint=GET /a"));
	assert_true(navigation_filter_is_condition("endpoint~GET *"));
	assert_true(navigation_filter_is_condition("k="));
	assert_false(navigation_filter_is_condition(""));
	assert_false(navigation_filter_is_condition("orders"));
	assert_false(navigation_filter_is_condition("=x"));
	assert_false(navigation_filter_is_condition("~x"));
	assert_false(navigation_filter_is_condition("GET /orders?id=1"));
	assert_false(navigation_filter_is_condition("/a=b"));
	assert_false(navigation_filter_is_condition("*=b"));
}

FIXTURE_TEST(navigation_ignores_unbound_keys)
{
	struct navigation before = navigation;

	take('x');
	take(0x1f600);
	take('5');
	assert_memory_equal(&navigation, &before, sizeof(before));
}

/* Presses c where a row has this value; what is shown then is the code of that. */
static void expect_code(enum list list, const char *of_place, const char *value, const char *of)
{
	navigation_init(&navigation);
	navigation.path[0].list = list;
	(void)strcpy(navigation.path[0].of, of_place);
	scene.value = value;
	take('c');
	assert_int_equal(navigation.depth, 2);
	assert_int_equal(place()->list, LIST_CODE);
	assert_string_equal(place()->of, of);
	/* It leads nowhere but back. */
	take('c');
	take(KEY_OF_ENTER);
	assert_int_equal(navigation.depth, 2);
	take(KEY_OF_ESCAPE);
	assert_int_equal(place()->list, list);
}

FIXTURE_TEST(navigation_c_opens_code_of_selected_row)
{
	expect_code(LIST_GROUPS, "", "GET /a", "endpoint=GET /a");
	expect_code(LIST_THREADS, "", "17", "tid=17");
	expect_code(LIST_IN_FLIGHT, "", "r-1", "request_id=r-1");
	expect_code(LIST_REQUESTS, "endpoint=GET /a", "r-1", "request_id=r-1");
	expect_code(LIST_STORY, "r-7", "", "request_id=r-7");
	expect_code(LIST_BOOKS, "", "", "");
	expect_code(LIST_GROUPS, "", "", "");
}

FIXTURE_TEST(navigation_reaches_maximum_depth_at_code_of_story)
{
	take(KEY_OF_ENTER);
	take(KEY_OF_ENTER);
	take('c');
	assert_int_equal(navigation.depth, NAVIGATION_DEPTH_MAX);
	assert_int_equal(place()->list, LIST_CODE);
	for (int i = 0; i < 3; i++)
		take(KEY_OF_ESCAPE);
	assert_int_equal(place()->list, LIST_GROUPS);
}
