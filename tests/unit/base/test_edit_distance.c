/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/edit_distance.h"

#include <string.h>

#include "unit_test.h"

TEST(edit_distance_counts_edits_in_both_directions)
{
	static const struct {
		const char *one, *other;
		unsigned int distance;
	} cases[] = {
		{ "", "", 0 },
		{ "", "abc", 3 },
		{ "key", "key", 0 },
		{ "keys", "key", 1 },
		{ "ky", "key", 1 },
		{ "kez", "key", 1 },
		{ "outptu", "output", 2 },
		{ "AllRuby", "all-ruby", 1 },
		{ "kitten", "sitting", 3 },
		{ "sunday", "saturday", 3 },
		{ "all_ruby", "all-ruby", 1 },
		{ "abc", "xyz", 3 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(edit_distance(cases[i].one, cases[i].other), cases[i].distance);
		assert_int_equal(edit_distance(cases[i].other, cases[i].one), cases[i].distance);
	}
}

TEST(edit_distance_exceeds_maximum_for_overlong_text)
{
	char longest[EDIT_DISTANCE_BYTES_MAX + 1] = "", longer[EDIT_DISTANCE_BYTES_MAX + 2] = "";

	memset(longest, 'a', sizeof(longest) - 1);
	memset(longer, 'a', sizeof(longer) - 1);
	assert_int_equal(edit_distance(longest, longest), 0);
	assert_int_equal(edit_distance(longest, ""), EDIT_DISTANCE_BYTES_MAX);
	assert_int_equal(edit_distance(longer, longest), EDIT_DISTANCE_BYTES_MAX + 1);
	assert_int_equal(edit_distance(longest, longer), EDIT_DISTANCE_BYTES_MAX + 1);
}
