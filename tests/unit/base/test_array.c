/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/array.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static void array_growth_keeps_items_and_doubles_capacity(void **state)
{
	size_t room = 0, rooms = 0;
	uint64_t *items = NULL;

	(void)state;
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

static void array_reserves_requested_capacity_at_once(void **state)
{
	size_t room = 0;
	char *text = NULL;

	(void)state;
	assert_int_equal(array_reserve(&text, &room, 1000), 0);
	assert_int_equal(room, 1000);
	assert_int_equal(array_reserve(&text, &room, 1001), 0);
	assert_int_equal(room, 2000);
	free(text);
}

static void array_with_spare_capacity_is_not_moved(void **state)
{
	size_t room = 0;
	uint32_t *items = NULL, *before;

	(void)state;
	assert_int_equal(array_reserve(&items, &room, 4), 0);
	before = items;
	for (size_t count = 1; count <= 4; count++)
		assert_int_equal(array_reserve(&items, &room, count), 0);
	assert_ptr_equal(items, before);
	assert_int_equal(room, 4);
	free(items);
}

static void array_rejects_size_overflow_and_stays_unchanged(void **state)
{
	size_t room = 0;
	uint64_t *items = NULL;

	(void)state;
	assert_int_equal(array_reserve(&items, &room, 2), 0);
	items[1] = 7;
	assert_int_equal(array_reserve(&items, &room, SIZE_MAX), -ENOMEM);
	assert_int_equal(array_reserve(&items, &room, SIZE_MAX / 8 + 1), -ENOMEM);
	assert_int_equal(room, 2);
	assert_int_equal(items[1], 7);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(array_growth_keeps_items_and_doubles_capacity),
		cmocka_unit_test(array_reserves_requested_capacity_at_once),
		cmocka_unit_test(array_with_spare_capacity_is_not_moved),
		cmocka_unit_test(array_rejects_size_overflow_and_stays_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
