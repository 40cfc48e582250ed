/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/modes.h"

#include "unit_test.h"

enum {
	COUNT = 3,
	LIFE = 7000 /* of the first */
};

static const struct key_options keys = { 0 };
static struct observed_table table = { .keys = &keys };
static struct observed *processes[COUNT];

static int set_up(void **state)
{
	(void)state;
	for (int i = 0; i < COUNT; i++)
		processes[i] = observed_add(&table, (uint64_t)(LIFE + i), 1 + i, 0, "ruby");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	observed_table_deinit(&table);
	return 0;
}

static void make(unsigned int first, unsigned int second, unsigned int third)
{
	const unsigned int causes[] = { first, second, third };

	for (int i = 0; i < COUNT; i++)
		processes[i]->lean_causes = causes[i];
}

static void run(uint64_t first, uint64_t second, uint64_t third)
{
	const uint64_t stretches[] = { first, second, third };

	for (int i = 0; i < COUNT; i++)
		processes[i]->books.stints = processes[i]->books.boundaries = stretches[i];
}

static void expect_mode(bool is_lean, bool has_lost_split, enum watch_mode mode)
{
	assert_int_equal(modes_of_all(&table, is_lean, has_lost_split, WATCH_MODE_SWITCH_ONLY),
			 mode);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(modes_are_partly_lean_until_all_processes_are_lean)
{
	for (int has_lost_split = 0; has_lost_split < 2; has_lost_split++) {
		make(0, 0, 0);
		expect_mode(false, has_lost_split, WATCH_MODE_EXACT);
		assert_false(modes_has_inexact(&table));
		make(0, 0, LEAN_NO_SITE);
		expect_mode(false, has_lost_split, WATCH_MODE_PARTLY_LEAN);
		assert_true(modes_has_inexact(&table));
		make(LEAN_BUDGET, LEAN_NO_PROBE, 0);
		expect_mode(false, has_lost_split, WATCH_MODE_PARTLY_LEAN);
	}
	make(LEAN_BUDGET, LEAN_NO_PROBE, LEAN_NO_SITE);
	expect_mode(false, false, WATCH_MODE_LEAN);
	expect_mode(false, true, WATCH_MODE_SWITCH_ONLY);
	/* Whatever they are, where the session is. */
	make(0, 0, 0);
	expect_mode(true, false, WATCH_MODE_LEAN);
	expect_mode(true, true, WATCH_MODE_SWITCH_ONLY);
}

FIXTURE_TEST(modes_keep_last_mode_without_processes)
{
	observed_table_deinit(&table);
	expect_mode(false, false, WATCH_MODE_SWITCH_ONLY);
	expect_mode(true, false, WATCH_MODE_LEAN);
	assert_int_equal(modes_of_all(&table, false, false, WATCH_MODE_NONE), WATCH_MODE_EXACT);
	assert_null(modes_find_dearest(&table));
	assert_null(modes_find_last(&table));
}

FIXTURE_TEST(modes_pick_exact_process_with_most_stints_as_most_expensive)
{
	run(2, 3, 1);
	assert_ptr_equal(modes_find_dearest(&table), processes[1]);
	run(2, 2, 2);
	assert_ptr_equal(modes_find_dearest(&table), processes[0]);
	run(2, 2, 3);
	processes[2]->lean_causes = LEAN_NO_SITE;
	assert_ptr_equal(modes_find_dearest(&table), processes[0]);
	processes[0]->state.stage = PROCESS_EXITED;
	assert_ptr_equal(modes_find_dearest(&table), processes[1]);
	run(0, 1, 0);
	assert_ptr_equal(modes_find_dearest(&table), processes[1]);
	/* Of none that does not run the mode matters. */
	run(0, 0, 0);
	assert_null(modes_find_dearest(&table));
}

FIXTURE_TEST(modes_pick_none_if_others_pass_far_more_boundaries)
{
	make(LEAN_BUDGET, 0, 0);
	run(1600, 100, 99);
	assert_ptr_equal(modes_find_dearest(&table), processes[1]);
	run(1600, 99, 99);
	assert_null(modes_find_dearest(&table));
	/* Boundaries, of which system calls have two. */
	run(1600, 99, 50);
	processes[2]->books.boundaries = 100;
	assert_ptr_equal(modes_find_dearest(&table), processes[2]);
}

FIXTURE_TEST(modes_pick_process_with_latest_budget_turn_as_last)
{
	assert_null(modes_find_last(&table));
	make(LEAN_BUDGET, LEAN_BUDGET | LEAN_NO_SITE, LEAN_NO_PROBE);
	processes[0]->budget_turn = 4;
	processes[1]->budget_turn = 5;
	processes[2]->budget_turn = 6;
	assert_ptr_equal(modes_find_last(&table), processes[1]);
	processes[0]->budget_turn = 5;
	assert_ptr_equal(modes_find_last(&table), processes[0]);
	processes[0]->budget_turn = 6;
	assert_ptr_equal(modes_find_last(&table), processes[0]);
	processes[0]->state.stage = PROCESS_EXITED;
	assert_ptr_equal(modes_find_last(&table), processes[1]);
}
