/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/table_probe.h>

#include <string.h>

#include "unit_test.h"

/* As the publisher does it (socketry/ruby-profiler, state.c; the gem's correlator_state.c). */
static int insert(struct state_pair *pairs, uint64_t capacity, uint64_t key, uint64_t value)
{
	for (uint64_t step = 0; step < capacity; step++) {
		uint64_t slot = (key + step) & (capacity - 1);

		if (!pairs[slot].key || pairs[slot].key == key) {
			pairs[slot].key = key;
			pairs[slot].value = value;
			return (int)slot;
		}
	}
	return -1;
}

TEST(table_header_capacity_must_be_power_of_two_in_limit)
{
	struct state_header header = { 0, 0 };

	for (header.capacity = 0; header.capacity <= 4 * STATE_CAPACITY_MAX; header.capacity++) {
		int is_power = header.capacity && !(header.capacity & (header.capacity - 1));

		assert_int_equal(table_header_is_sane(&header),
				 is_power && header.capacity <= STATE_CAPACITY_MAX);
	}
	header.capacity = UINT64_MAX;
	assert_false(table_header_is_sane(&header));
	header.capacity = 1ULL << 63;
	assert_false(table_header_is_sane(&header));
}

TEST(table_header_rejects_size_above_capacity)
{
	struct state_header header = { .size = 8, .capacity = 8 };

	assert_true(table_header_is_sane(&header));
	header.size = 9;
	assert_false(table_header_is_sane(&header));
	header.size = UINT64_MAX;
	assert_false(table_header_is_sane(&header));
}

TEST(table_probe_finds_every_key_in_full_table)
{
	for (uint64_t capacity = 1; capacity <= STATE_CAPACITY_MAX; capacity *= 2) {
		struct state_pair pairs[STATE_CAPACITY_MAX] = { 0 };

		for (uint64_t i = 0; i < capacity; i++)
			assert_true(insert(pairs, capacity, (i * 37 + 1) << 4 | 1, i) >= 0);
		for (uint64_t i = 0; i < capacity; i++) {
			int slot = table_probe_find(pairs, capacity, (i * 37 + 1) << 4 | 1);

			assert_in_range(slot, 0, (int)capacity - 1);
			assert_int_equal(pairs[slot].value, i);
		}
		assert_int_equal(table_probe_find(pairs, capacity, 0xabcdef1), -1);
	}
}

TEST(table_probe_wraps_around)
{
	struct state_pair pairs[STATE_CAPACITY_MAX] = { 0 };

	assert_int_equal(insert(pairs, 8, 0x17, 1), 7);
	assert_int_equal(insert(pairs, 8, 0x27, 2), 0);
	assert_int_equal(insert(pairs, 8, 0x37, 3), 1);
	assert_int_equal(table_probe_find(pairs, 8, 0x37), 1);
}

TEST(table_probe_ends_at_empty_slot)
{
	struct state_pair pairs[STATE_CAPACITY_MAX] = { 0 };

	pairs[3].key = 0x11; /* not where the publisher would have put it */
	assert_int_equal(table_probe_find(pairs, 8, 0x11), -1);
	assert_int_equal(table_probe_find(pairs, 8, 0x13), -1);
}

TEST(table_probe_never_finds_key_0)
{
	struct state_pair pairs[STATE_CAPACITY_MAX] = { 0 };

	assert_int_equal(table_probe_find(pairs, 8, 0), -1);
}

TEST(table_probe_stays_in_array_with_invalid_capacity)
{
	struct state_pair pairs[STATE_CAPACITY_MAX];

	/* ASan is the judge: no empty slot ends the walk. */
	for (unsigned int i = 0; i < STATE_CAPACITY_MAX; i++)
		pairs[i].key = 1000 + i;
	assert_int_equal(table_probe_find(pairs, 0, 77), -1);
	assert_int_equal(table_probe_find(pairs, 3, 77), -1);
	assert_int_equal(table_probe_find(pairs, UINT64_MAX, 77), -1);
	assert_int_equal(table_probe_find(pairs, 1ULL << 40, 77), -1);
}

TEST(table_pointer_must_be_aligned_user_address)
{
	assert_true(table_pointer_is_sane(0x7f0000001000));
	assert_false(table_pointer_is_sane(0));
	assert_false(table_pointer_is_sane(8));
	assert_false(table_pointer_is_sane(0x7f0000001004));
	assert_false(table_pointer_is_sane(0xffff888000000000));
	assert_false(table_pointer_is_sane(UINT64_MAX & ~7ULL));
}
