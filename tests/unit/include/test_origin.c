/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/origin.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum {
	OWN = CONTEXT_HASH_FIRST,
	OTHER
};

static void origin_is_context_in_force_at_exec(void **state)
{
	(void)state;
	assert_true(origin_is_new(1, 0, OWN, OWN));
	assert_false(origin_is_new(0, 0, OWN, OWN));
	/* That was found full, which says nothing of whose it is. */
	assert_true(origin_is_new(1, 0, CONTEXT_HASH_OVERFLOW, OWN));
}

static void origin_is_not_renewed_from_origin_context(void **state)
{
	(void)state;
	assert_false(origin_is_new(1, 1, OWN, OWN));
}

static void origin_requires_known_context_and_its_snapshot(void **state)
{
	(void)state;
	/* What the snapshot holds is of an earlier one. */
	assert_false(origin_is_new(1, 0, CONTEXT_HASH_NONE, OWN));
	assert_false(origin_is_new(1, 0, CONTEXT_HASH_UNKNOWN, OWN));
	assert_false(origin_is_new(1, 0, OTHER, OWN));
	assert_false(origin_is_new(1, 0, CONTEXT_HASH_OVERFLOW, CONTEXT_HASH_FIRST - 1));
	assert_false(origin_is_new(1, 0, CONTEXT_HASH_UNKNOWN, CONTEXT_HASH_UNKNOWN));
	assert_false(origin_is_new(1, 0, CONTEXT_HASH_NONE, CONTEXT_HASH_NONE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(origin_is_context_in_force_at_exec),
		cmocka_unit_test(origin_is_not_renewed_from_origin_context),
		cmocka_unit_test(origin_requires_known_context_and_its_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
