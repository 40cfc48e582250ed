/* SPDX-License-Identifier: GPL-2.0-only */
/* The lines of a table of a tally (tally.h): groups, below each its sums, the rest that is not
 * shown, and the total. After tally_finish. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/report/table.h"
#include "reader/report/tally_view.h"

/* The first columns of each such table. The first number of a tally is that of calls. */
enum tally_lines_column {
	TALLY_LINES_NAME,
	TALLY_LINES_REQUESTS,
	TALLY_LINES_CALLS,
	TALLY_LINES_CALLS_MEAN,
	_TALLY_LINES_COLUMN_MAX,
};

/* A group as a whole, one of its sums, or those that are not shown. */
struct tally_line {
	const struct tally_group *group; /* NULL: the total, or the groups that are not shown */
	const struct tally_sum *sum; /* NULL: all, or the rest */
	size_t rest_count; /* number of sums, or of groups (group NULL); 0: not the rest */
	const int64_t *numbers;
};

/* Writes the name of a sum, escaped (display_escape), and NUL-terminated. */
typedef void (*tally_lines_name_fn)(const struct tally_name *name, char *ret_text,
				    size_t text_bytes);

struct tally_lines {
	const struct tally *tally;
	tally_lines_name_fn write_name;
	struct tally_line *lines;
	size_t count;
	int64_t (*rests)[TALLY_NUMBERS_MAX]; /* sums of what is not shown */
	size_t rest_count;
};

struct tally_table {
	const struct table_column *columns;
	size_t column_count;
	size_t first_column_min; /* as a table's (table.h) */
	tally_lines_name_fn write_name;
	table_cell_fn cell; /* its context is a struct tally_lines */
};

/* Number of requests of a line; 0: not known, or of no request. */
uint64_t tally_lines_requests(const struct tally_line *line);

/* Writes a cell of the columns above. */
void tally_lines_write(const struct tally_lines *lines, size_t row, enum tally_lines_column column,
		       char ret_text[static TABLE_CELL_BYTES]);

/* Prints the first options->top_count groups and sums of each, and a rule above the total; groups
 * without a value of the key are always shown. An empty line follows. 0, -ENOMEM. */
int tally_lines_print(const struct tally *tally, const struct tally_table *shown,
		      const struct tally_view_options *options, FILE *out);
