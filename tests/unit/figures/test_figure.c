/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <string.h>

#include "unit_test.h"

#include "figures/figure.h"
#include "record/record_fields.h"

TEST(figure_is_found_by_its_unique_name)
{
	enum figure found;

	for (enum figure figure = 0; figure < _FIGURE_MAX; figure++) {
		assert_int_equal(figure_find(figure_infos[figure].name, &found), 0);
		assert_int_equal(found, figure);
		assert_true(figure_infos[figure].text[strlen(figure_infos[figure].text) - 1] ==
			    '.');
	}
	assert_int_equal(figure_find("colour", &found), -EINVAL);
	assert_int_equal(figure_find("", &found), -EINVAL);
}

TEST(figure_of_cost_uses_record_field_name)
{
	enum cost found;

	for (enum cost cost = 0; cost < _COST_MAX; cost++) {
		enum figure figure = figure_of_cost(cost);

		assert_true(figure_cost(figure, &found));
		assert_int_equal(found, cost);
		assert_true(record_fields_are_taken(figure_infos[figure].field) ||
			    cost == COST_SWITCHES);
	}
	assert_false(figure_cost(FIGURE_WALL, &found));
	assert_string_equal(figure_infos[FIGURE_BLOCKED_DISK].field, "blocked_disk_ns");
}

TEST(figure_classifies_request_and_key_figures)
{
	size_t part = 9;

	assert_int_equal(figure_of_request(REQUEST_PARKED), FIGURE_PARKED);
	assert_true(figure_part(FIGURE_KEY_3, &part));
	assert_int_equal(part, 2);
	assert_false(figure_part(FIGURE_COMM, &part));
	assert_true(figure_is_of_requests(FIGURE_RATE) && figure_is_of_requests(FIGURE_CPU_P99) &&
		    figure_is_of_requests(FIGURE_WALL_MEAN));
	assert_false(figure_is_of_requests(FIGURE_WALL) || figure_is_of_requests(FIGURE_CPU));
}

TEST(figures_of_view_are_sorted_by_place)
{
	enum figure shown[_FIGURE_MAX];
	size_t count;

	for (enum figure_view view = 0; view < _FIGURE_VIEW_MAX; view++) {
		count = figures_of_view(view, shown);
		assert_true(count > 0);
		for (size_t i = 1; i < count; i++) {
			unsigned int before = figure_infos[shown[i - 1]].places[view].place;
			unsigned int place = figure_infos[shown[i]].places[view].place;

			assert_true(before < place || (before == place && shown[i - 1] < shown[i]));
		}
	}
	assert_int_equal(figures_of_view(FIGURE_VIEW_LINES, shown), 2);
	assert_int_equal(shown[0], FIGURE_REQUESTS);
	assert_int_equal(shown[1], FIGURE_CPU);
}

static bool has_unit(enum figure figure, const void *context)
{
	return figure_infos[figure].unit == *(const enum figure_unit *)context;
}

TEST(figure_list_separates_names_and_truncates_at_size)
{
	const enum figure_unit unit = FIGURE_UNIT_TIME;
	char text[64], small[8];

	figure_list(has_unit, &unit, text, sizeof(text));
	assert_string_equal(text, "began, ended");
	figure_list(has_unit, &unit, small, sizeof(small));
	assert_string_equal(small, "began, ");
	assert_string_equal(figure_unit_name(unit), "time");
	assert_string_equal(figure_unit_name(FIGURE_UNIT_PERCENT), "percent");
}
