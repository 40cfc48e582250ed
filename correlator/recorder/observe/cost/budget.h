/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When to watch less closely because of the cost, and when more closely again: after three windows
 * in a row over the budget, and after several well below it. If a step up is soon taken back, the
 * next one waits twice as long. Pure: the caller carries out the steps.
 */
#pragma once

#include <stdint.h>

enum {
	BUDGET_WINDOWS_OVER = 3, /* in a row, to ignore outliers */
	BUDGET_PATIENCE_FIRST = 10, /* windows below half of the budget before a step up */
	BUDGET_PATIENCE_MAX = 640
};

enum budget_step {
	BUDGET_STAY = 0,
	BUDGET_STEP_DOWN = 1,
	BUDGET_STEP_UP = 2,
};

struct budget {
	double percent; /* of one CPU; 0 = no limit */
	uint32_t windows_over; /* over the budget, in a row */
	uint32_t windows_below; /* below half of the budget, in a row */
	uint32_t patience; /* windows_below that a step up takes */
	uint32_t windows_up; /* since the last step up; 0 = there was none, or it was judged */
};

void budget_init(struct budget *budget, double percent);

/* Call once per window, with its cost. Ignore BUDGET_STEP_UP if nothing was stepped down. */
enum budget_step budget_on_window(struct budget *budget, double cost_percent);
/* The step up was carried out. */
void budget_stepped_up(struct budget *budget);
