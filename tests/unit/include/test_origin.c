/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/origin.h>

#include "unit_test.h"

enum {
	OWN = CONTEXT_HASH_FIRST,
	OTHER
};

TEST(origin_is_context_in_force_at_exec)
{
	assert_true(origin_is_new(1, 0, OWN, OWN));
	assert_false(origin_is_new(0, 0, OWN, OWN));
	/* That was found full, which says nothing of whose it is. */
	assert_true(origin_is_new(1, 0, CONTEXT_HASH_OVERFLOW, OWN));
}

TEST(origin_is_not_renewed_from_origin_context)
{
	assert_false(origin_is_new(1, 1, OWN, OWN));
}

TEST(origin_requires_known_context_and_its_snapshot)
{
	/* What the snapshot holds is of an earlier one. */
	assert_false(origin_is_new(1, 0, CONTEXT_HASH_NONE, OWN));
	assert_false(origin_is_new(1, 0, CONTEXT_HASH_UNKNOWN, OWN));
	assert_false(origin_is_new(1, 0, OTHER, OWN));
	assert_false(origin_is_new(1, 0, CONTEXT_HASH_OVERFLOW, CONTEXT_HASH_FIRST - 1));
	assert_false(origin_is_new(1, 0, CONTEXT_HASH_UNKNOWN, CONTEXT_HASH_UNKNOWN));
	assert_false(origin_is_new(1, 0, CONTEXT_HASH_NONE, CONTEXT_HASH_NONE));
}
