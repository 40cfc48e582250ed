/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/cost/budget.h"

#include <stdbool.h>

/* A step up needs a cost below this share of the budget: it may cost what the step down saved. */
static const double well_below = 0.5;

void budget_init(struct budget *budget, double percent)
{
	*budget = (struct budget){ .percent = percent, .patience = BUDGET_PATIENCE_FIRST };
}

/* Doubles the patience if a step up is taken back within it; resets it if the step lasts. */
static void judge_step_up(struct budget *budget, bool is_taken_back)
{
	if (!budget->windows_up)
		return;
	if (is_taken_back) {
		budget->patience *= 2;
		if (budget->patience > BUDGET_PATIENCE_MAX)
			budget->patience = BUDGET_PATIENCE_MAX;
		budget->windows_up = 0;
	} else if (++budget->windows_up > budget->patience) {
		budget->patience = BUDGET_PATIENCE_FIRST;
		budget->windows_up = 0;
	}
}

enum budget_step budget_on_window(struct budget *budget, double cost_percent)
{
	if (budget->percent <= 0)
		return BUDGET_STAY;
	judge_step_up(budget, false);
	budget->windows_over = cost_percent > budget->percent ? budget->windows_over + 1 : 0;
	budget->windows_below =
		cost_percent < well_below * budget->percent ? budget->windows_below + 1 : 0;
	if (budget->windows_over >= BUDGET_WINDOWS_OVER) {
		budget->windows_over = 0;
		judge_step_up(budget, true);
		return BUDGET_STEP_DOWN;
	}
	if (budget->windows_below < budget->patience)
		return BUDGET_STAY;
	budget->windows_below = 0;
	return BUDGET_STEP_UP;
}

void budget_stepped_up(struct budget *budget)
{
	budget->windows_up = 1;
}
