/* SPDX-License-Identifier: GPL-2.0-only */
/* Values as text in table cells: valid UTF-8 without control characters, of at most
 * TABLE_CELL_BYTES. */
#pragma once

#include "figures/figure.h"
#include "reader/report/table.h"
#include "record/record_view.h"

/* Escapes text (any bytes, at most COMBINATION_PART_BYTES_MAX) and fits it to this many columns. */
void cell_text_fit(struct record_text text, size_t columns, char ret_text[static TABLE_CELL_BYTES]);
/* The same for the value of a key; an empty one becomes "(no KEY)". */
void cell_text_key(struct record_text value, const char *key, size_t columns,
		   char ret_text[static TABLE_CELL_BYTES]);

/* A part of a whole in percent: "12.34 %"; of a whole of 0 it is 0. */
void cell_text_share(int64_t part, int64_t whole, char ret_text[static TABLE_CELL_BYTES]);

/* A figure's number by its unit; shares, rates and percentages are in parts (ROWS_PARTS). A wall
 * clock time has a date if has_date (display_needs_date). */
void cell_text_number(enum figure figure, int64_t number, bool has_date,
		      char ret_text[static TABLE_CELL_BYTES]);
/* A cost, or "-" if it was not measured. */
void cell_text_cost(const struct costs *costs, enum figure figure,
		    char ret_text[static TABLE_CELL_BYTES]);
