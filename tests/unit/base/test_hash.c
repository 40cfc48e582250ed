/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "unit_test.h"

#include "base/hash.h"

enum {
	BYTES = 40
};

static const uint8_t zeros[BYTES];

/* Zeros at the end are no padding: the size is part of it. */
TEST(hash_differs_for_each_length_of_zeros)
{
	uint64_t hashes[BYTES];

	for (size_t i = 0; i < BYTES; i++) {
		hashes[i] = hash_bytes(1, zeros, i);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(hashes[i], hashes[j]);
	}
}

TEST(hash_depends_on_each_bit_at_any_alignment)
{
	uint8_t moved[BYTES + 8];

	for (size_t at = 0; at < 8; at++) {
		memset(moved, 0xff, sizeof(moved));
		memset(moved + at, 0, BYTES);
		assert_int_equal(hash_bytes(1, moved + at, BYTES), hash_bytes(1, zeros, BYTES));
		for (size_t bit = 0; bit < BYTES * 8; bit++) {
			moved[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_not_equal(hash_bytes(1, moved + at, BYTES),
					     hash_bytes(1, zeros, BYTES));
			moved[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

TEST(hash_depends_on_seed_and_chained_order)
{
	uint64_t one = hash_bytes(1, "one", 3);

	assert_int_equal(hash_bytes(1, "one", 3), one);
	assert_int_not_equal(hash_bytes(2, "one", 3), one);
	assert_int_not_equal(hash_bytes(one, "two", 3), hash_bytes(1, "onetwo", 6));
	assert_int_not_equal(hash_bytes(one, "two", 3),
			     hash_bytes(hash_bytes(1, "two", 3), "one", 3));
	assert_int_equal(hash_table_key(1, "one", 3), (unsigned int)one);
}
