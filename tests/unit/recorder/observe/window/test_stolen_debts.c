/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/stolen_debts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "failing_memory.h"

enum {
	THREAD = 7,
	WINDOW_NS = 1000 * 1000 * 1000,
	SHORT_WINDOW_NS = 10 * 1000 * 1000
};

#define OTHER (1ULL << 32 | THREAD)

static void what_is_positive_is_written_as_it_is(void **state)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	(void)state;
	assert_int_equal(stolen_debts_settle(debts, THREAD, 100), 100);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 0), 0);
}

static void a_debt_is_taken_out_of_the_same_threads_next_accounts(void **state)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	(void)state;
	assert_int_equal(stolen_debts_settle(debts, THREAD, -150), 0);
	assert_int_equal(stolen_debts_settle(debts, OTHER, 100), 100);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 100), 0);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 100), 50);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 100), 100);
}

static void a_debt_outlives_windows_as_long_as_its_thread_is_met(void **state)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	(void)state;
	assert_int_equal(stolen_debts_settle(debts, THREAD, -150), 0);
	stolen_debts_end_window(debts, WINDOW_NS);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 0), 0);
	stolen_debts_end_window(debts, WINDOW_NS);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 200), 50);
}

static void the_debt_of_a_thread_that_is_gone_is_forgotten(void **state)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	(void)state;
	assert_int_equal(stolen_debts_settle(debts, THREAD, -150), 0);
	stolen_debts_end_window(debts, WINDOW_NS);
	stolen_debts_end_window(debts, WINDOW_NS);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 200), 200);
}

/* It waits for a CPU, say. */
static void the_debt_of_a_thread_that_is_not_met_in_some_short_windows_is_kept(void **state)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	(void)state;
	assert_int_equal(stolen_debts_settle(debts, THREAD, -150), 0);
	for (int i = 0; i < 50; i++)
		stolen_debts_end_window(debts, SHORT_WINDOW_NS);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 100), 0);
	for (int i = 0; i < 110; i++)
		stolen_debts_end_window(debts, SHORT_WINDOW_NS);
	assert_int_equal(stolen_debts_settle(debts, THREAD, 100), 100);
}

static void a_debt_is_kept_for_a_second_after_the_last_account(void **state)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	(void)state;
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

static void without_memory_a_debt_is_forgotten(void **state)
{
	_cleanup_(stolen_debts_freep) struct stolen_debts *debts = stolen_debts_new();

	(void)state;
	for (size_t successes = 0; successes < 3; successes++) {
		memory_fails_once_after(successes);
		assert_int_equal(stolen_debts_settle(debts, THREAD, -150), 0);
		memory_never_fails();
		assert_int_equal(stolen_debts_settle(debts, THREAD, 200), 200);
	}
	stolen_debts_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_positive_is_written_as_it_is),
		cmocka_unit_test(a_debt_is_taken_out_of_the_same_threads_next_accounts),
		cmocka_unit_test(a_debt_outlives_windows_as_long_as_its_thread_is_met),
		cmocka_unit_test(the_debt_of_a_thread_that_is_gone_is_forgotten),
		cmocka_unit_test(
			the_debt_of_a_thread_that_is_not_met_in_some_short_windows_is_kept),
		cmocka_unit_test(a_debt_is_kept_for_a_second_after_the_last_account),
		cmocka_unit_test(without_memory_a_debt_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
