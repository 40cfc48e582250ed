/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/array.h"

#include <stdlib.h>

#include "unit_test.h"

TEST(array_growth_keeps_items_and_doubles_capacity)
{
	size_t room = 0, rooms = 0;
	uint64_t *items = NULL;

	for (size_t count = 0; count < 100; count++) {
		size_t before = room;

		assert_int_equal(array_reserve(&items, &room, count + 1), 0);
		assert_true(room > count);
		rooms += room != before;
		items[count] = 3 * count;
	}
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(items[i], 3 * i);
	/* 1, 2, 4, ..., 128. */
	assert_int_equal(rooms, 8);
	assert_int_equal(room, 128);
	free(items);
}

TEST(array_reserves_requested_capacity_at_once)
{
	size_t room = 0;
	char *text = NULL;

	assert_int_equal(array_reserve(&text, &room, 1000), 0);
	assert_int_equal(room, 1000);
	assert_int_equal(array_reserve(&text, &room, 1001), 0);
	assert_int_equal(room, 2000);
	free(text);
}

TEST(array_with_spare_capacity_is_not_moved)
{
	size_t room = 0;
	uint32_t *items = NULL, *before;

	assert_int_equal(array_reserve(&items, &room, 4), 0);
	before = items;
	for (size_t count = 1; count <= 4; count++)
		assert_int_equal(array_reserve(&items, &room, count), 0);
	assert_ptr_equal(items, before);
	assert_int_equal(room, 4);
	free(items);
}

TEST(array_counts_items_up_to_value)
{
	static const struct {
		uint64_t first;
		char other[5];
	} items[] = { { 3, "a" }, { 5, "b" }, { 5, "c" }, { UINT64_MAX, "d" } };
	static const struct {
		uint64_t value;
		size_t count;
	} cases[] = {
		{ 0, 0 }, { 2, 0 }, { 3, 1 }, { 4, 1 }, { 5, 3 }, { 6, 3 }, { UINT64_MAX, 4 }
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(array_count_up_to(items, 4, sizeof(items[0]), cases[i].value),
				 cases[i].count);
	assert_int_equal(array_count_up_to(NULL, 0, 8, 7), 0);
}

TEST(array_rejects_size_overflow_and_stays_unchanged)
{
	size_t room = 0;
	uint64_t *items = NULL;

	assert_int_equal(array_reserve(&items, &room, 2), 0);
	items[1] = 7;
	assert_int_equal(array_reserve(&items, &room, SIZE_MAX), -ENOMEM);
	assert_int_equal(array_reserve(&items, &room, SIZE_MAX / 8 + 1), -ENOMEM);
	assert_int_equal(room, 2);
	assert_int_equal(items[1], 7);
	free(items);
}
