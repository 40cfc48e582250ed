/*
 * Standard output as the screen that a report is shown on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Columns: of $COLUMNS, else of the terminal, else 100. */
size_t screen_width(void);

/* True on a terminal, unless $NO_COLOR is set to something (https://no-color.org). */
bool screen_takes_bold(void);

/* Flushes out: 0, also when its reader has seen enough and left (`| head`); else -errno, logged. */
int screen_finish(FILE *out);
