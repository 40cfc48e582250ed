/* SPDX-License-Identifier: GPL-2.0-only */
/* Size and abilities of the terminal at standard output. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The value of $COLUMNS, if it is a number from minimum to 1000; else 0. */
size_t stdout_screen_columns_wanted(size_t minimum);

/* Whether $NO_COLOR is unset or empty (https://no-color.org). */
bool stdout_screen_may_be_coloured(void);

/* Width in columns: $COLUMNS, else that of the terminal, else 100. */
size_t stdout_screen_width(void);

/* Whether standard output is no terminal and $COLUMNS gives no width. */
bool stdout_screen_is_endless(void);

/* Whether standard output is a terminal that may be coloured. */
bool stdout_screen_takes_bold(void);
