/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/share.h>

#include <string.h>

#include "unit_test.h"

enum {
	ROOM = 32768
};

/* Takes all it can get; how much that was. */
static uint32_t take_all(struct share_table *table, uint32_t family, uint32_t room)
{
	uint32_t taken = 0;

	for (; share_has_room(table, family, room); taken++)
		share_add(table, family);
	return taken;
}

TEST(share_of_one_family_is_three_quarters)
{
	struct share_table table = { 0 };

	assert_int_equal(take_all(&table, 1000, ROOM), ROOM / 4 * 3);
	assert_int_equal(table.used, ROOM / 4 * 3);
}

TEST(share_leaves_capacity_for_each_next_family)
{
	struct share_table table = { 0 };

	for (uint32_t family = 1; family <= 6; family++) {
		uint32_t left = ROOM - table.used;

		/* At its turn, three quarters of what is left. */
		assert_true(take_all(&table, family, ROOM) >= left / 4 * 3);
		if (family == 3)
			assert_int_equal(table.used, ROOM - ROOM / 64);
	}
	assert_true(table.used < ROOM);
}

TEST(share_of_alternating_families_leaves_part_free)
{
	struct share_table table = { 0 };
	int is_taken = 1;

	while (is_taken) {
		is_taken = 0;
		for (uint32_t family = 1; family <= 5; family++)
			if (share_has_room(&table, family, ROOM)) {
				share_add(&table, family);
				is_taken = 1;
			}
	}
	/* 1 / (1 + 3 * 5) of it. */
	assert_in_range(ROOM - table.used, ROOM / 16 - 5, ROOM / 16 + 5);
	assert_true(share_has_room(&table, 6, ROOM));
}

TEST(share_removed_can_be_taken_again)
{
	struct share_table table = { 0 };
	uint32_t taken = take_all(&table, 7, ROOM);

	for (uint32_t i = 0; i < taken; i++)
		share_remove(&table, 7);
	assert_int_equal(table.used, 0);
	assert_int_equal(take_all(&table, 7, ROOM), taken);
}

TEST(share_gives_new_family_free_or_least_used_number)
{
	struct share_table table = { 0 };

	for (uint32_t family = 1; family < SHARE_SLOTS; family++) {
		assert_int_equal(share_find_family(&table), family);
		share_add(&table, family);
	}
	share_remove(&table, 77);
	assert_int_equal(share_find_family(&table), 77);
	/* When all are in use, with who holds least. */
	for (uint32_t family = 1; family < SHARE_SLOTS; family++)
		for (int i = 0; i < (family == 99 ? 1 : 2); i++)
			share_add(&table, family);
	share_add(&table, 77);
	assert_int_equal(share_find_family(&table), 99);
}

TEST(share_allows_entry_in_smallest_maps)
{
	for (uint32_t room = 1; room < 64; room++) {
		struct share_table table = { 0 };

		assert_true(take_all(&table, 1, room) > 0);
		assert_true(table.used <= room);
		assert_false(share_has_room(&table, 1, room));
	}
}
