/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The report as a table for people, and as a sheet for programs. All read totals and write to a
 * stream; the caller checks ferror(out). "Not measured" is "-" in a table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/aggregate/rows.h"
#include "reader/aggregate/totals.h"
#include "reader/query/input.h"
#include "reader/report/sheet.h"

struct view_options {
	enum output_format format;
	enum figure sort;
	const enum figure *columns; /* of tables, without the key; NULL: what fits */
	size_t column_count;
	size_t top_count; /* 0 = all */
	bool has_top; /* --top was given; else two tables share a screen */
	bool has_books; /* the whole books and heading; else a summary */
	bool has_cost; /* the whole cost of watching */
	size_t width; /* of the screen, in columns */
	bool is_slowest; /* requests only, with their start times */
	bool has_step; /* over time: steps of the length that was given, not of one that fits */
	bool is_endless; /* no screen: lines of tables have any length */
	bool is_bold;
	const struct input_file *files;
	size_t file_count;
};

enum {
	HEADING_COLUMNS = 11, /* width of a label in the heading, and of "books" and "next" */
};

static inline size_t view_table_width(const struct view_options *options)
{
	return options->is_endless ? SIZE_MAX : options->width;
}

/* Prints in options->format: for programs the first grouping; as a table the first, and the second
 * if it has groups. 0 or -ENOMEM. */
int totals_view_print(const struct totals *totals, const struct view_options *options, FILE *out);
int totals_text_print(const struct totals *totals, const struct view_options *options, FILE *out);

/* The same over time (series.h), if the first grouping was split. */
int series_view_print(const struct totals *totals, const struct view_options *options, FILE *out);
int series_text_print(const struct totals *totals, const struct view_options *options, FILE *out);

/* Prints what precedes the tables of totals_text_print: facts about the recording. */
void heading_text_print(const struct totals *totals, const struct view_options *options, FILE *out);
/* Prints a table of unattributed time by thread. 0, -ENOMEM. */
int unattributed_text_print(const struct totals *totals, const struct view_options *options,
			    FILE *out);
/* Prints a hint if pool threads ran in no context although the gem could attribute their time. */
void unattributed_text_print_remedy(const struct totals *totals, const struct view_options *options,
				    FILE *out);
/* Writes a cell of a table, fit for a screen, to ret_text, of at least 1024 bytes
 * (TABLE_CELL_BYTES). has_date: times have a date. */
void row_text_write(const struct rows *rows, size_t row_index, enum figure field, bool has_date,
		    char *ret_text);

/*
 * Prints what follows the tables of totals_text_print: one line with the books and the cost of
 * watching, and one for each loss that may have changed a figure. With has_books it prints the
 * whole books and all counters, with has_cost the whole cost.
 */
void books_text_print(const struct totals *totals, const struct view_options *options, FILE *out);
/* Prints the whole cost of watching (has_cost). */
void cost_text_print(const struct totals *totals, const struct view_options *options, FILE *out);
