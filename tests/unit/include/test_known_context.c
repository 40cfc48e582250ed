/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/known_context.h>

#include <string.h>

#include "unit_test.h"

enum {
	SERIAL = 5,
	HASH = 1000,
	EPOCH = 7,
	READING = 3,
};

static struct known_context known[KNOWN_CONTEXTS];

static int set_up(void **state)
{
	(void)state;
	memset(known, 0, sizeof(known));
	known_context_note(known, SERIAL, HASH, EPOCH, READING);
	return 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(known_context_is_found_only_in_its_window_and_reading)
{
	assert_int_equal(known_context_find(known, SERIAL, EPOCH, READING), HASH);
	assert_int_equal(known_context_find(known, SERIAL, EPOCH + 1, READING), 0);
	assert_int_equal(known_context_find(known, SERIAL, EPOCH, READING + 1), 0);
	assert_int_equal(known_context_find(known, SERIAL + 1, EPOCH, READING), 0);
	known_context_note(known, SERIAL, HASH + 1, EPOCH + 1, READING);
	assert_int_equal(known_context_find(known, SERIAL, EPOCH + 1, READING), HASH + 1);
}

FIXTURE_TEST(known_contexts_keep_one_of_serials_with_same_place)
{
	const uint64_t other = SERIAL + KNOWN_CONTEXTS;

	assert_int_equal(known_context_find(known, other, EPOCH, READING), 0);
	for (uint64_t serial = SERIAL + 1; serial <= other; serial++)
		known_context_note(known, serial, HASH + serial, EPOCH, READING);
	assert_int_equal(known_context_find(known, SERIAL, EPOCH, READING), 0);
	for (uint64_t serial = SERIAL + 1; serial <= other; serial++)
		assert_int_equal(known_context_find(known, serial, EPOCH, READING), HASH + serial);
}
