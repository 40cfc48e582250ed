/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/stolen_debts.h"

#include "unit_test.h"

#include "failing_memory.h"

enum {
	THREAD = 7,
	WINDOW_NS = 1000 * 1000 * 1000,
	SHORT_WINDOW_NS = 10 * 1000 * 1000
};

#define OTHER (1ULL << 32 | THREAD)

TEST(stolen_debts_pass_positive_value_unchanged)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	assert_int_equal(stolen_debts_settle(debts, THREAD, 100), 100);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 0), 0);
}

TEST(stolen_debts_deduct_from_next_accounts_of_same_thread)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	assert_int_equal(stolen_debts_settle(debts, THREAD, -150), 0);
	assert_int_equal(stolen_debts_settle(debts, OTHER, 100), 100);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 100), 0);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 100), 50);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 100), 100);
}

TEST(stolen_debts_survive_windows_while_thread_is_active)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	assert_int_equal(stolen_debts_settle(debts, THREAD, -150), 0);
	stolen_debts_end_window(debts, WINDOW_NS);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 0), 0);
	stolen_debts_end_window(debts, WINDOW_NS);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 200), 50);
}

TEST(stolen_debts_expire_with_thread)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	assert_int_equal(stolen_debts_settle(debts, THREAD, -150), 0);
	stolen_debts_end_window(debts, WINDOW_NS);
	stolen_debts_end_window(debts, WINDOW_NS);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 200), 200);
}

/* It waits for a CPU, say. */
TEST(stolen_debts_survive_short_windows_without_thread)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	assert_int_equal(stolen_debts_settle(debts, THREAD, -150), 0);
	for (int i = 0; i < 50; i++)
		stolen_debts_end_window(debts, SHORT_WINDOW_NS);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 100), 0);
	for (int i = 0; i < 110; i++)
		stolen_debts_end_window(debts, SHORT_WINDOW_NS);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 100), 100);
}

TEST(stolen_debts_last_one_second_after_last_account)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	assert_int_equal(stolen_debts_settle(debts, THREAD, -1), 0);
	stolen_debts_end_window(debts, WINDOW_NS / 2);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 0), 0);
	stolen_debts_end_window(debts, WINDOW_NS - 1);
	stolen_debts_end_window(debts, 1);
	stolen_debts_end_window(debts, 1);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 1), 1);
	assert_int_equal(stolen_debts_settle(debts, THREAD, -1), 0);
	stolen_debts_end_window(debts, WINDOW_NS - 1);
	stolen_debts_end_window(debts, 1);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 1), 0);
}

TEST(stolen_debts_are_forgotten_without_memory)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	for (size_t successes = 0; successes < 3; successes++) {
		memory_fails_once_after(successes);
		assert_int_equal(stolen_debts_settle(debts, THREAD, -150), 0);
		memory_never_fails();
		assert_int_equal(stolen_debts_settle(debts, THREAD, 200), 200);
	}
	stolen_debts_free(NULL);
}
