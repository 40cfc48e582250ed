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

static void a_context_that_is_in_force_at_an_exec_is_the_origin(void **state)
{
	(void)state;
	assert_true(origin_is_new(1, 0, OWN, OWN));
	assert_false(origin_is_new(0, 0, OWN, OWN));
	/* That was found full, which says nothing of whose it is. */
	assert_true(origin_is_new(1, 0, CONTEXT_HASH_OVERFLOW, OWN));
}

static void of_the_origin_itself_it_stays_the_same(void **state)
{
	(void)state;
	assert_false(origin_is_new(1, 1, OWN, OWN));
}

static void without_one_or_its_values_there_is_none(void **state)
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
		cmocka_unit_test(a_context_that_is_in_force_at_an_exec_is_the_origin),
		cmocka_unit_test(of_the_origin_itself_it_stays_the_same),
		cmocka_unit_test(without_one_or_its_values_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
