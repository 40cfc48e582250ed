/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A picture in cells, as a terminal has them. The code that draws it does not depend on the output:
 * a terminal (terminal.h), or lines of text in a pipe or a test. Widths are right under a UTF-8
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
	SCREEN_SELECTED = 4, /* the selected row */
	SCREEN_FAINT = 5,
	SCREEN_ALARM = 6,
	_SCREEN_STYLE_MAX,
};

enum {
	SCREEN_CELL_BYTES = 20, /* a character and its combining characters */
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

/* Makes a blank screen. Sides are limited to SCREEN_SIDE_MAX. 0, -ENOMEM. */
int screen_init(struct screen *screen, size_t width, size_t height);
void screen_deinit(struct screen *screen);

struct screen_cell *screen_at(const struct screen *screen, size_t row, size_t column);

/* Puts text (UTF-8 without control characters, display.h) into a row from a column on, cut at the
 * row's end. Returns the column after it. Puts nothing outside of the screen. */
size_t screen_put(struct screen *screen, size_t row, size_t column, enum screen_style style,
		  const char *text);
/* Sets the style of a whole row, and keeps its text. */
void screen_fill(struct screen *screen, size_t row, enum screen_style style);

/* Prints the rows as lines, without trailing blanks. Check ferror(out). */
void screen_print(const struct screen *screen, FILE *out);
