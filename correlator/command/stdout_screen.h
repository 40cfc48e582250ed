/* SPDX-License-Identifier: GPL-2.0-only */
/* What standard output is, where it is a terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Of $COLUMNS, if it is a number from minimum to 1000; else 0. */
size_t stdout_screen_columns_wanted(size_t minimum);

/* Whether $NO_COLOR is not set to something (https://no-color.org). */
bool stdout_screen_may_be_coloured(void);

/* Columns: of $COLUMNS, else of the terminal, else 100. */
size_t stdout_screen_width(void);

/* Whether standard output is no terminal, and $COLUMNS says nothing. */
bool stdout_screen_is_endless(void);

/* On a terminal that may be coloured. */
bool stdout_screen_takes_bold(void);
