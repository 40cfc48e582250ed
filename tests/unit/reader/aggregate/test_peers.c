/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/peers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
	COUNT = 7,
};

static const char x[] = "x", y[] = "y";

/* In their order: 30 and 10 of none, 4 of y, 20, 50, 20 and 40 of x. */
static const struct peer all[COUNT] = {
	{ .endpoint = NULL, .number = 30, .index = 0 }, { .endpoint = y, .number = 4, .index = 1 },
	{ .endpoint = x, .number = 20, .index = 2 },	{ .endpoint = x, .number = 50, .index = 3 },
	{ .endpoint = NULL, .number = 10, .index = 4 }, { .endpoint = x, .number = 20, .index = 5 },
	{ .endpoint = x, .number = 40, .index = 6 },
};

static void expect_most(size_t most, const char *expected)
{
	struct peer peers[COUNT];
	bool is_marked[COUNT] = { false };

	memcpy(peers, all, sizeof(all));
	peers_mark_most(peers, COUNT, most, is_marked);
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(is_marked[i], expected[i] == '+');
}

static void expect_above(double percent, const char *expected)
{
	struct peer peers[COUNT];
	bool is_marked[COUNT] = { false };

	memcpy(peers, all, sizeof(all));
	peers_mark_above(peers, COUNT, percent, is_marked);
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(is_marked[i], expected[i] == '+');
}

static void most_are_marked_whatever_their_endpoints(void **state)
{
	(void)state;
	expect_most(0, "-------");
	expect_most(1, "---+---");
	expect_most(3, "+--+--+");
	expect_most(7, "+++++++");
	expect_most(8, "+++++++");
}

static void of_equal_ones_the_lower_index_is_marked(void **state)
{
	(void)state;
	expect_most(4, "+-++--+");
}

static void peers_above_a_percentile_are_compared_with_their_endpoint_alone(void **state)
{
	(void)state;
	expect_above(50, "+--+--+");
	expect_above(51, "---+---");
	expect_above(75, "---+---");
	expect_above(76, "-------");
	expect_above(100, "-------");
}

static void percentile_is_at_least_the_least_number(void **state)
{
	(void)state;
	expect_above(0.001, "+--+--+");
}

static void of_no_peers_none_is_marked(void **state)
{
	struct peer none;
	bool is_marked = false;

	(void)state;
	peers_mark_above(&none, 0, 99, &is_marked);
	peers_mark_most(&none, 0, 1, &is_marked);
	assert_false(is_marked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_are_marked_whatever_their_endpoints),
		cmocka_unit_test(of_equal_ones_the_lower_index_is_marked),
		cmocka_unit_test(peers_above_a_percentile_are_compared_with_their_endpoint_alone),
		cmocka_unit_test(percentile_is_at_least_the_least_number),
		cmocka_unit_test(of_no_peers_none_is_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
