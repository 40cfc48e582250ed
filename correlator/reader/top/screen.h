/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A picture in cells, as a terminal has them: what draws it knows nothing of who shows it, a
 * terminal (terminal.h), or lines of text in a pipe or a test. Widths are right under a UTF-8
 * LC_CTYPE locale (wcwidth(3)). Single thread.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

enum screen_style {
	SCREEN_PLAIN = 0,
	SCREEN_HEADING = 1,
	SCREEN_BAR = 2, /* frames the picture */
	SCREEN_CURRENT = 3, /* the pane that is shown, in a bar */
	SCREEN_SELECTED = 4, /* the row that is chosen */
	SCREEN_FAINT = 5,
	SCREEN_ALARM = 6,
	_SCREEN_STYLE_MAX,
};

enum {
	SCREEN_CELL_BYTES = 20, /* a character and those that combine with it */
	SCREEN_SIDE_MAX = 1000,
};

struct screen_cell {
	char text[SCREEN_CELL_BYTES]; /* "" = the right half of a wide character */
	enum screen_style style;
};

struct screen {
	size_t width, height;
	struct screen_cell *cells; /* row by row */
};

/* Blank. Sides are cut to SCREEN_SIDE_MAX. 0, -ENOMEM. */
int screen_init(struct screen *screen, size_t width, size_t height);
void screen_deinit(struct screen *screen);

struct screen_cell *screen_at(const struct screen *screen, size_t row, size_t column);

/* Puts text (UTF-8 without control characters, display.h) into a row, from a column on, cut where
 * the row ends; returns the column behind it. Outside of the screen nothing is put. */
size_t screen_put(struct screen *screen, size_t row, size_t column, enum screen_style style,
		  const char *text);
/* A whole row in a style, whatever is in it. */
void screen_fill(struct screen *screen, size_t row, enum screen_style style);

/* The rows as lines, without blanks at their ends. Check ferror(out). */
void screen_print(const struct screen *screen, FILE *out);
