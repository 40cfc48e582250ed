/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When what watching costs calls for watching less closely, and when for more closely again: three
 * windows in a row over the budget, and several well below it. If a step up was taken back soon,
 * the next one waits twice as long. Pure: whoever asks carries the steps out.
 */
#pragma once

#include <stdint.h>

enum {
	BUDGET_WINDOWS_OVER = 3, /* no accident */
	BUDGET_PATIENCE_FIRST = 10, /* windows below half of it */
	BUDGET_PATIENCE_MAX = 640
};

enum budget_step {
	BUDGET_STAY = 0,
	BUDGET_STEP_DOWN = 1,
	BUDGET_STEP_UP = 2,
};

struct budget {
	double percent; /* of one CPU; 0 = no limit */
	uint32_t windows_over; /* in a row */
	uint32_t windows_below; /* half of it, in a row */
	uint32_t patience; /* so many of these before a step up */
	uint32_t windows_up; /* since the last step up; 0 = there was none, or it was judged */
};

void budget_init(struct budget *budget, double percent);

/* Once a window, with what it cost. A step up is for who took one down: else it is nothing. */
enum budget_step budget_on_window(struct budget *budget, double cost_percent);
/* That step up was taken. */
void budget_stepped_up(struct budget *budget);
