/* SPDX-License-Identifier: GPL-2.0-only */
/* How values read in the cells of tables: valid UTF-8 without control characters, of at most
 * TABLE_CELL_BYTES. */
#pragma once

#include "figures/figure.h"
#include "reader/report/table.h"
#include "record/record_view.h"

/* Any bytes, at most COMBINATION_PART_BYTES_MAX, in this many columns. */
void cell_text_fit(struct record_text text, size_t columns, char ret_text[static TABLE_CELL_BYTES]);
/* The same of the value of a key; an empty one as "(no KEY)". */
void cell_text_key(struct record_text value, const char *key, size_t columns,
		   char ret_text[static TABLE_CELL_BYTES]);

/* A figure's number by its unit: of shares, rates and percentages parts (ROWS_PARTS). A time of the
 * wall clock has a date where one is needed (display_needs_date). */
void cell_text_number(enum figure figure, int64_t number, bool has_date,
		      char ret_text[static TABLE_CELL_BYTES]);
/* A cost, or "-" where it is not measured. */
void cell_text_cost(const struct costs *costs, enum figure figure,
		    char ret_text[static TABLE_CELL_BYTES]);
