/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/code_value.h"

#include <stdbool.h>

#include "unit_test.h"

static struct code_nodes nodes;

static struct code_value argument(uint64_t number)
{
	return code_value_node(&nodes, CODE_NODE_ARGUMENT, number, NULL);
}

static struct code_value sum(struct code_value a, struct code_value b)
{
	struct code_value value;

	assert_true(code_value_add(&a, &b, &value));
	return value;
}

static struct code_value product(struct code_value value, int64_t factor)
{
	struct code_value result;

	assert_true(code_value_multiply(&value, factor, &result));
	return result;
}

static int reset(void **state)
{
	(void)state;
	code_nodes_init(&nodes);
	return 0;
}

static void assert_equal(struct code_value a, struct code_value b)
{
	assert_true(code_value_equal(&a, &b));
}

static void assert_different(struct code_value a, struct code_value b)
{
	assert_false(code_value_equal(&a, &b));
}

#define FIXTURE_TEST(test) TEST_WITH(test, reset, NULL)

FIXTURE_TEST(code_value_shares_node_of_equal_expressions)
{
	struct code_value a = argument(0), b = argument(1);

	assert_equal(a, argument(0));
	assert_different(a, b);
	assert_different(a, code_value_node(&nodes, CODE_NODE_UNKNOWN, 0, NULL));
	assert_equal(code_value_node(&nodes, CODE_NODE_LOAD, 8, &a),
		     code_value_node(&nodes, CODE_NODE_LOAD, 8, &a));
	assert_different(code_value_node(&nodes, CODE_NODE_LOAD, 8, &a),
			 code_value_node(&nodes, CODE_NODE_LOAD, 4, &a));
	assert_different(code_value_node(&nodes, CODE_NODE_LOAD, 8, &a),
			 code_value_node(&nodes, CODE_NODE_LOAD, 8, &b));
	assert_different(code_value_node(&nodes, CODE_NODE_LOAD, 8, &a),
			 code_value_node(&nodes, CODE_NODE_SHIFTED, 8, &a));
}

FIXTURE_TEST(code_value_sum_is_independent_of_order)
{
	struct code_value a = argument(0), b = argument(1);

	assert_equal(sum(a, b), sum(b, a));
	assert_equal(sum(sum(a, b), a), sum(product(a, 2), b));
	assert_different(sum(a, b), sum(a, a));
	assert_different(a, sum(a, b));
}

FIXTURE_TEST(code_value_removes_cancelled_terms)
{
	struct code_value a = argument(0), b = argument(1);

	assert_equal(sum(sum(a, b), product(a, -1)), b);
	assert_equal(sum(sum(a, b), product(b, -1)), a);
	assert_equal(sum(a, product(a, -1)), code_value_constant(0));
	assert_equal(product(sum(a, code_value_constant(7)), 0), code_value_constant(0));
	assert_true(code_value_is_constant(&(struct code_value){ .constant = 5 }));
	assert_false(code_value_is_constant(&a));
}

FIXTURE_TEST(code_value_folds_constants_with_wraparound)
{
	struct code_value a = sum(argument(0), code_value_constant(3));

	assert_int_equal(a.constant, 3);
	assert_int_equal(sum(a, code_value_constant(-5)).constant, -2);
	assert_int_equal(product(a, 8).constant, 24);
	assert_int_equal(product(a, 8).terms[0].factor, 8);
	assert_different(a, argument(0));
	/* As registers do. */
	assert_int_equal(sum(code_value_constant(INT64_MAX), code_value_constant(1)).constant,
			 INT64_MIN);
	assert_int_equal(product(code_value_constant(INT64_MAX), 2).constant, -2);
}

FIXTURE_TEST(code_value_rejects_third_term)
{
	struct code_value two = sum(argument(0), argument(1)), third = argument(2), value = two;

	assert_false(code_value_add(&two, &third, &value));
	assert_equal(value, two);
	assert_false(code_value_add(&third, &two, &value));
}

FIXTURE_TEST(code_value_rejects_factor_beyond_limit)
{
	struct code_value a = argument(0), value = a, most;

	most = product(a, CODE_FACTOR_MAX);
	assert_int_equal(product(a, -CODE_FACTOR_MAX).terms[0].factor, -CODE_FACTOR_MAX);
	assert_false(code_value_multiply(&a, CODE_FACTOR_MAX + 1, &value));
	assert_false(code_value_multiply(&a, -CODE_FACTOR_MAX - 1, &value));
	assert_false(code_value_multiply(&most, 2, &value));
	assert_false(code_value_multiply(&most, -2, &value));
	assert_false(code_value_add(&most, &a, &value));
	assert_equal(value, a);
}

FIXTURE_TEST(code_value_splits_load_into_base_and_offset)
{
	struct code_value at = sum(argument(0), code_value_constant(24)), base, value, other;
	int64_t offset;
	uint64_t width;

	value = code_value_node(&nodes, CODE_NODE_LOAD, 4, &at);
	assert_true(code_value_is_load(&nodes, &value, &base, &offset, &width));
	assert_equal(base, argument(0));
	assert_int_equal(offset, 24);
	assert_int_equal(width, 4);
	other = sum(value, code_value_constant(1));
	assert_false(code_value_is_load(&nodes, &other, &base, &offset, &width));
	other = product(value, 2);
	assert_false(code_value_is_load(&nodes, &other, &base, &offset, &width));
	other = sum(value, argument(1));
	assert_false(code_value_is_load(&nodes, &other, &base, &offset, &width));
	assert_false(code_value_is_load(&nodes, &at, &base, &offset, &width));
	other = code_value_constant(0);
	assert_null(code_value_single(&nodes, &other));
	other = argument(0);
	assert_false(code_value_is_load(&nodes, &other, &base, &offset, &width));
}

FIXTURE_TEST(code_value_is_unknown_when_node_table_is_full)
{
	struct code_value value;
	const struct code_node *node;

	for (uint64_t i = 0; i < 2 * CODE_NODES_MAX; i++)
		value = argument(i);
	assert_int_equal(nodes.count, CODE_NODES_MAX);
	node = code_value_single(&nodes, &value);
	assert_non_null(node);
	assert_int_equal(node->kind, CODE_NODE_UNKNOWN);
	value = argument(0);
	assert_int_equal(code_value_single(&nodes, &value)->kind, CODE_NODE_ARGUMENT);
	value = argument(CODE_NODES_MAX - 3);
	assert_int_equal(code_value_single(&nodes, &value)->kind, CODE_NODE_ARGUMENT);
}
