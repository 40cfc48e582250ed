/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/random.h"

enum {
	MOST_BYTES = 256,
	DRAWS = 8, /* a byte that is 0 in each of them: one time in 2^64 */
};

static void all_bytes_are_drawn_and_none_beyond(void **state)
{
	uint8_t bytes[MOST_BYTES + 1], seen[MOST_BYTES + 1];

	(void)state;
	for (size_t size = 0; size <= MOST_BYTES; size++) {
		memset(seen, 0, sizeof(seen));
		for (unsigned int draw = 0; draw < DRAWS; draw++) {
			memset(bytes, 0, sizeof(bytes));
			assert_int_equal(random_bytes(bytes, size), 0);
			for (size_t i = 0; i < sizeof(bytes); i++)
				seen[i] |= bytes[i];
		}
		for (size_t i = 0; i < sizeof(seen); i++)
			assert_int_equal(seen[i] != 0, i < size);
	}
}

static void no_two_seeds_are_the_same(void **state)
{
	uint64_t seeds[DRAWS];

	(void)state;
	for (size_t i = 0; i < DRAWS; i++) {
		seeds[i] = random_seed();
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(seeds[i], seeds[j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_bytes_are_drawn_and_none_beyond),
		cmocka_unit_test(no_two_seeds_are_the_same),
	};

	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
