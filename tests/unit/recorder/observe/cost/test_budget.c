/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/cost/budget.h"

#include "unit_test.h"

/* Halves of halves: exact. */
#define BUDGET 0.5
#define OVER   0.625
#define WITHIN 0.25
#define BELOW  0.125

enum {
	NEVER = 10000
};

static struct budget budget;

static int set_up(void **state)
{
	(void)state;
	budget_init(&budget, BUDGET);
	return 0;
}

/* Windows of that cost until a step is called for; NEVER: none is. */
static unsigned int windows_until(enum budget_step step, double percent)
{
	for (unsigned int windows = 1; windows < NEVER; windows++) {
		enum budget_step got = budget_on_window(&budget, percent);

		if (got == step)
			return windows;
		assert_int_equal(got, BUDGET_STAY);
	}
	return NEVER;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(budget_zero_never_steps_down)
{
	budget_init(&budget, 0);
	assert_int_equal(windows_until(BUDGET_STEP_DOWN, OVER), NEVER);
}

FIXTURE_TEST(budget_steps_down_after_consecutive_windows_over_it)
{
	assert_int_equal(windows_until(BUDGET_STEP_DOWN, OVER), BUDGET_WINDOWS_OVER);
	assert_int_equal(windows_until(BUDGET_STEP_DOWN, OVER), BUDGET_WINDOWS_OVER);
	/* One within it makes an accident of what came before. */
	assert_int_equal(budget_on_window(&budget, OVER), BUDGET_STAY);
	assert_int_equal(budget_on_window(&budget, OVER), BUDGET_STAY);
	assert_int_equal(budget_on_window(&budget, WITHIN), BUDGET_STAY);
	assert_int_equal(windows_until(BUDGET_STEP_DOWN, OVER), BUDGET_WINDOWS_OVER);
}

FIXTURE_TEST(budget_steps_up_only_well_below_its_limit)
{
	(void)windows_until(BUDGET_STEP_DOWN, OVER);
	/* Just half of it is not well below. */
	assert_int_equal(windows_until(BUDGET_STEP_UP, WITHIN), NEVER);
	assert_int_equal(windows_until(BUDGET_STEP_UP, BELOW), BUDGET_PATIENCE_FIRST);
	assert_int_equal(windows_until(BUDGET_STEP_UP, BELOW), BUDGET_PATIENCE_FIRST);
}

FIXTURE_TEST(budget_stays_at_exactly_its_limit)
{
	assert_int_equal(windows_until(BUDGET_STEP_DOWN, BUDGET), NEVER);
}

/* Each step up doubles the cost again, at once. */
FIXTURE_TEST(budget_doubles_patience_after_step_up_is_reverted)
{
	unsigned int expected = BUDGET_PATIENCE_FIRST;

	for (unsigned int i = 0; i < 10; i++) {
		(void)windows_until(BUDGET_STEP_DOWN, OVER);
		assert_int_equal(windows_until(BUDGET_STEP_UP, BELOW), expected);
		budget_stepped_up(&budget);
		expected = expected * 2 < BUDGET_PATIENCE_MAX ? expected * 2 : BUDGET_PATIENCE_MAX;
	}
}

/* A step up that is taken back in the last one of so many windows. */
static void step_up_for(unsigned int windows)
{
	budget_stepped_up(&budget);
	for (unsigned int i = 0; i < windows - BUDGET_WINDOWS_OVER; i++)
		assert_int_equal(budget_on_window(&budget, WITHIN), BUDGET_STAY);
	assert_int_equal(windows_until(BUDGET_STEP_DOWN, OVER), BUDGET_WINDOWS_OVER);
}

FIXTURE_TEST(budget_resets_patience_after_step_up_lasts)
{
	(void)windows_until(BUDGET_STEP_DOWN, OVER);
	(void)windows_until(BUDGET_STEP_UP, BELOW);
	step_up_for(BUDGET_PATIENCE_FIRST - 1);
	assert_int_equal(windows_until(BUDGET_STEP_UP, BELOW), 2 * BUDGET_PATIENCE_FIRST);
	step_up_for(2 * BUDGET_PATIENCE_FIRST);
	assert_int_equal(windows_until(BUDGET_STEP_UP, BELOW), BUDGET_PATIENCE_FIRST);
	/* It was taken back, and is not judged again. */
	step_up_for(BUDGET_PATIENCE_FIRST);
	(void)windows_until(BUDGET_STEP_DOWN, OVER);
	assert_int_equal(windows_until(BUDGET_STEP_UP, BELOW), BUDGET_PATIENCE_FIRST);
}
