#include "attribution/contexts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct forgotten {
	uint64_t hashes[8];
	size_t count;
};

static void note(void *user, uint64_t hash)
{
	struct forgotten *forgotten = user;

	assert_in_range(forgotten->count, 0, 7);
	forgotten->hashes[forgotten->count++] = hash;
}

static void a_context_is_found_with_its_values(void **state)
{
	_cleanup_(context_table_freep) struct context_table *table = context_table_new();
	char id[] = "req-1";
	struct context context = { .hash = 77, .values = { id, NULL, "GET /" }, .last_window = 1 };
	const struct context *found;

	(void)state;
	assert_int_equal(context_table_add(table, &context, 3), 0);
	id[0] = 'X'; /* values are copied */
	found = context_table_find(table, 77, 2);
	assert_non_null(found);
	assert_string_equal(found->values[0], "req-1");
	assert_null(found->values[1]);
	assert_string_equal(found->values[2], "GET /");
	assert_null(context_table_find(table, 78, 2));
}

static void an_empty_value_is_not_an_absent_one(void **state)
{
	_cleanup_(context_table_freep) struct context_table *table = context_table_new();
	struct context context = { .hash = 1, .values = { "", NULL } };

	(void)state;
	assert_int_equal(context_table_add(table, &context, 2), 0);
	assert_string_equal(context_table_find(table, 1, 0)->values[0], "");
	assert_null(context_table_find(table, 1, 0)->values[1]);
}

static void contexts_that_are_not_named_are_forgotten(void **state)
{
	_cleanup_(context_table_freep) struct context_table *table = context_table_new();
	struct forgotten forgotten = { .count = 0 };

	(void)state;
	for (uint64_t hash = 1; hash <= 4; hash++) {
		struct context context = { .hash = hash, .values = { "x" }, .last_window = 1 };

		assert_int_equal(context_table_add(table, &context, 1), 0);
	}
	(void)context_table_find(table, 2, 5);
	(void)context_table_find(table, 4, 6);
	context_table_forget(table, 5, note, &forgotten);
	assert_int_equal(forgotten.count, 2);
	assert_int_equal(forgotten.hashes[0] + forgotten.hashes[1], 1 + 3);
	assert_int_equal(context_table_count(table), 2);
	assert_null(context_table_find(table, 1, 7));
	assert_non_null(context_table_find(table, 2, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_context_is_found_with_its_values),
		cmocka_unit_test(an_empty_value_is_not_an_absent_one),
		cmocka_unit_test(contexts_that_are_not_named_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
