/* SPDX-License-Identifier: GPL-2.0-only */
/* What standard output is, where it is a terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Columns: of $COLUMNS, else of the terminal, else 100, where *ret_is_endless: it is none. */
size_t screen_width(bool *ret_is_endless);

/* On a terminal, unless $NO_COLOR is set to something (https://no-color.org). */
bool screen_takes_bold(void);
