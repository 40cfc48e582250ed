/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/hash.h"

enum {
	BYTES = 40
};

static const uint8_t zeros[BYTES];

/* Zeros at the end are no padding: the size is part of it. */
static void hash_differs_for_each_length_of_zeros(void **state)
{
	uint64_t hashes[BYTES];

	(void)state;
	for (size_t i = 0; i < BYTES; i++) {
		hashes[i] = hash_bytes(1, zeros, i);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(hashes[i], hashes[j]);
	}
}

static void hash_depends_on_each_bit_at_any_alignment(void **state)
{
	uint8_t moved[BYTES + 8];

	(void)state;
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

static void hash_depends_on_seed_and_chained_order(void **state)
{
	uint64_t one = hash_bytes(1, "one", 3);

	(void)state;
	assert_int_equal(hash_bytes(1, "one", 3), one);
	assert_int_not_equal(hash_bytes(2, "one", 3), one);
	assert_int_not_equal(hash_bytes(one, "two", 3), hash_bytes(1, "onetwo", 6));
	assert_int_not_equal(hash_bytes(one, "two", 3),
			     hash_bytes(hash_bytes(1, "two", 3), "one", 3));
	assert_int_equal(hash_table_key(1, "one", 3), (unsigned int)one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_differs_for_each_length_of_zeros),
		cmocka_unit_test(hash_depends_on_each_bit_at_any_alignment),
		cmocka_unit_test(hash_depends_on_seed_and_chained_order),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
