/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/peers.h"

#include <string.h>

#include "unit_test.h"

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

TEST(peers_mark_highest_across_endpoints)
{
	expect_most(0, "-------");
	expect_most(1, "---+---");
	expect_most(3, "+--+--+");
	expect_most(7, "+++++++");
	expect_most(8, "+++++++");
}

TEST(peers_mark_lower_index_of_equals)
{
	expect_most(4, "+-++--+");
}

TEST(peers_mark_above_percentile_per_endpoint)
{
	expect_above(50, "+--+--+");
	expect_above(51, "---+---");
	expect_above(75, "---+---");
	expect_above(76, "-------");
	expect_above(100, "-------");
}

TEST(peers_percentile_near_zero_is_the_minimum)
{
	expect_above(0.001, "+--+--+");
}

TEST(peers_mark_nothing_if_empty)
{
	struct peer none;
	bool is_marked = false;

	peers_mark_above(&none, 0, 99, &is_marked);
	peers_mark_most(&none, 0, 1, &is_marked);
	assert_false(is_marked);
}
