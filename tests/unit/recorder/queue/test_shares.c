/* SPDX-License-Identifier: GPL-2.0-only */
/* How much of each process waits, and how much each has lost. */
#include "unit_test.h"

#include "recorder/queue/shares.h"

static void add(struct shares *shares, uint32_t pid, uint64_t size_bytes)
{
	struct share *share = shares_get(shares, pid);

	assert_non_null(share);
	shares_add(shares, share, size_bytes);
}

static void take(struct shares *shares, uint32_t pid, uint64_t size_bytes)
{
	shares_take(shares, shares_find(shares, pid), size_bytes);
}

static bool is_above(struct shares *shares, uint32_t pid)
{
	return shares_is_above(shares, shares_find(shares, pid));
}

TEST(shares_divide_queued_bytes_evenly_among_processes)
{
	struct shares shares = { 0 };

	assert_null(shares_find(&shares, 1));
	add(&shares, 1, 100);
	assert_int_equal(shares.count, 1);
	/* All of it is its own. */
	assert_false(is_above(&shares, 1));
	add(&shares, 2, 99);
	assert_true(is_above(&shares, 1));
	assert_false(is_above(&shares, 2));
	add(&shares, 2, 1);
	assert_false(is_above(&shares, 1));
	add(&shares, 0, 10);
	assert_int_equal(shares.count, 3);
	assert_int_equal(shares.queued_bytes, 210);
	assert_true(is_above(&shares, 1));
	assert_false(is_above(&shares, 0));
	take(&shares, 1, 100);
	/* It is forgotten, for nothing of it is left, and nothing was lost. */
	assert_null(shares_find(&shares, 1));
	take(&shares, 2, 100);
	take(&shares, 0, 10);
	assert_int_equal(shares.count, 0);
	assert_int_equal(shares.queued_bytes, 0);
	shares_deinit(&shares);
}

static const struct gap three = {
	.dropped_records = 3, .first_ns = 5, .last_ns = 9, .reason = "x"
};

TEST(shares_report_each_gap_once_and_keep_process_totals)
{
	struct shares shares = { 0 };
	struct gap gap;

	for (uint64_t round = 1; round <= 3; round++) {
		shares_lose(&shares, 7, &three);
		shares_lose(&shares, 0, &three);
		assert_true(shares_take_gap(&shares, &gap));
		assert_int_equal(gap.pid, 7);
		assert_int_equal(gap.dropped_records, 3);
		assert_int_equal(gap.pid_dropped_records, 3 * round);
		assert_true(shares_take_gap(&shares, &gap));
		/* Nobody known may be anybody. */
		assert_int_equal(gap.pid, 0);
		assert_int_equal(gap.dropped_records, 3);
		assert_int_equal(gap.pid_dropped_records, 0);
		assert_false(shares_take_gap(&shares, &gap));
	}
	shares_deinit(&shares);
}

static void lose(struct shares *shares, uint32_t pid)
{
	struct gap gap;

	shares_lose(shares, pid, &three);
	assert_true(shares_take_gap(shares, &gap));
	assert_int_equal(gap.pid, pid);
}

TEST(shares_forget_longest_idle_process_first)
{
	const uint32_t more = 10;
	struct shares shares = { 0 };

	add(&shares, 1, 100);
	for (uint32_t pid = 1; pid <= SHARES_REMEMBERED_MAX + more; pid++)
		lose(&shares, pid);
	/* A process with something waiting is never forgotten. */
	assert_int_equal(shares_find(&shares, 1)->queued_bytes, 100);
	for (uint32_t pid = 2; pid <= more; pid++)
		assert_null(shares_find(&shares, pid));
	assert_non_null(shares_find(&shares, more + 1));
	/* A process that lost something again comes last. */
	lose(&shares, more + 2);
	lose(&shares, 1000000);
	assert_null(shares_find(&shares, more + 1));
	lose(&shares, 1000001);
	assert_non_null(shares_find(&shares, more + 2));
	assert_null(shares_find(&shares, more + 3));
	shares_deinit(&shares);
}

TEST(shares_report_gaps_in_order_of_loss)
{
	static const uint32_t order[] = { 7, 3, 0, 5 };
	struct shares shares = { 0 };
	struct gap gap;

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < 4; i++)
			shares_lose(&shares, order[i], &three);
	for (size_t i = 0; i < 4; i++) {
		assert_true(shares_take_gap(&shares, &gap));
		assert_int_equal(gap.pid, order[i]);
		assert_int_equal(gap.dropped_records, 6);
		/* A process that was told of comes last. */
		shares_lose(&shares, order[i], &three);
	}
	assert_true(shares_take_gap(&shares, &gap));
	assert_int_equal(gap.pid, order[0]);
	shares_deinit(&shares);
}

TEST(shares_assign_process_to_least_used_lane)
{
	struct shares shares = { 0 };

	for (uint32_t pid = 1; pid <= 2 * SHARES_LANES; pid++) {
		add(&shares, pid, 100);
		shares_part(&shares, shares_find(&shares, pid));
	}
	assert_int_equal(shares.lanes_in_use, SHARES_LANES - 1);
	for (unsigned int lane = 1; lane < SHARES_LANES; lane++)
		assert_in_range(shares.lane_users[lane], 2, 3);
	for (uint32_t pid = 2; pid <= 2 * SHARES_LANES; pid++)
		take(&shares, pid, 100);
	assert_int_equal(shares.lanes_in_use, 1);
	assert_int_equal(shares_find(&shares, 1)->lane, 1);
	shares_join(&shares, shares_find(&shares, 1));
	assert_int_equal(shares.lanes_in_use, 0);
	shares_deinit(&shares);
}
