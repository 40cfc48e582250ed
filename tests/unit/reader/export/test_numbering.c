/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/export/numbering.h"

static const struct frames_text texts[2];

TEST(numbering_assigns_numbers_in_first_seen_order)
{
	const struct numbering_key keys[] = {
		{ &texts[0], NULL, 0 },
		{ &texts[1], NULL, 0 },
		{ &texts[0], &texts[1], 0 },
		{ &texts[0], NULL, 1 },
	};
	const struct numbering_key *key = NULL;
	struct numbering numbering;
	uint64_t number;

	numbering_init(&numbering);
	assert_null(numbering_next(&numbering, NULL));
	for (size_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(numbering_find(&numbering, &keys[i], &number), round == 0);
			assert_int_equal(number, i);
		}
	}
	for (size_t i = 0; i < 4; i++) {
		key = numbering_next(&numbering, key);
		assert_memory_equal(key, &keys[i], sizeof(*key));
	}
	assert_null(numbering_next(&numbering, key));
	numbering_deinit(&numbering);
}

TEST(numbering_retries_key_after_failed_allocation)
{
	const struct numbering_key key = { &texts[0], NULL, 7 };
	struct numbering numbering;
	uint64_t number = 99;
	int r = -ENOMEM;

	numbering_init(&numbering);
	for (size_t i = 0; r < 0; i++) {
		memory_fails_once_after(i);
		r = numbering_find(&numbering, &key, &number);
		memory_never_fails();
		assert_int_equal(r, memory_failures() ? -ENOMEM : 1);
		assert_int_equal(number, memory_failures() ? 99 : 0);
		assert_in_range(i, 0, 10);
	}
	numbering_deinit(&numbering);
}
