/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A table of text on a screen of a given width. The first column is left-aligned and flexible; the
 * others are right-aligned (texts left-aligned) and as wide as their cells. If the table does not
 * fit, whole columns are left out, the least important first. Cells come from a callback, so a
 * table of any length needs no memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
	TABLE_CELL_BYTES = 1024,
	TABLE_COLUMNS_MAX = 80,
	TABLE_RULES_MAX = 2,
	TABLE_FIRST_COLUMN_MIN = 20, /* default of first_column_min */
	TABLE_FIRST_COLUMN_MAX = 60,
	TABLE_TEXT_COLUMN_MAX = 30, /* limit that cells of other text columns should keep */
};

/* Writes the text of a cell: valid UTF-8 without control characters. */
typedef void (*table_cell_fn)(const void *context, size_t row, size_t column,
			      char ret_text[static TABLE_CELL_BYTES]);

/* Writes the text that replaces a row's cells after the first, and which may be broken into several
 * lines; false: the row has cells. Encoded as above. */
typedef bool (*table_text_fn)(const void *context, size_t row,
			      char ret_text[static TABLE_CELL_BYTES]);

struct table_column {
	const char *title;
	unsigned int rank; /* the highest is dropped first; 0 = never */
	bool is_text; /* left-aligned */
};

struct table {
	const struct table_column *columns;
	size_t column_count; /* <= TABLE_COLUMNS_MAX */
	size_t row_count;
	size_t rules[TABLE_RULES_MAX]; /* rows with a line above them; 0 = none */
	size_t width; /* of the screen, in columns */
	size_t first_column_min; /* columns are dropped to leave the first this wide; 0: default */
	bool is_silent; /* do not mention columns left out */
	bool is_bold; /* bold heading, by an escape sequence */
	table_cell_fn cell;
	table_text_fn text; /* NULL: all rows have cells */
	const void *context;
};

/* Prints the table, and a line about columns left out, with their names if they fit. Returns their
 * number. The caller checks ferror(out). */
size_t table_print(const struct table *table, FILE *out);
