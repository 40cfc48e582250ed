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

struct format_options {
	enum output_format format;
	enum figure sort;
	const enum figure *columns; /* of tables, key apart; NULL: what fits */
	size_t column_count;
	size_t top_count; /* 0 = all */
	bool has_top; /* it was asked for: else two tables share a screen */
	bool has_books; /* all of the books, and of the heading; else what one must know of them */
	bool has_cost; /* all that watching cost */
	size_t width; /* of the screen, in columns */
	bool is_slowest; /* requests alone, and when each began */
	bool has_step; /* over time: steps as long as they were asked for, not what fits */
	bool is_endless; /* there is no screen: lines of tables are as long as they are */
	bool is_bold;
	const struct input_file *files;
	size_t file_count;
};

enum {
	HEADING_COLUMNS = 11, /* of a label in the heading, and of "books" and "next" */
};

static inline size_t format_table_width(const struct format_options *options)
{
	return options->is_endless ? SIZE_MAX : options->width;
}

/* In the format that is wanted: for programs the first grouping, as a table all of them that have
 * groups (the first always). 0 or -ENOMEM. */
int format_totals(const struct totals *totals, const struct format_options *options, FILE *out);
int format_table(const struct totals *totals, const struct format_options *options, FILE *out);

/* The same over time (series.h), where the first grouping was split. */
int format_series(const struct totals *totals, const struct format_options *options, FILE *out);
int format_series_table(const struct totals *totals, const struct format_options *options,
			FILE *out);

/* What format_table prints above its tables: the recording. */
void format_heading(const struct totals *totals, const struct format_options *options, FILE *out);
/* A table of what unattributed time was, by thread. 0, -ENOMEM. */
int format_unattributed(const struct totals *totals, const struct format_options *options,
			FILE *out);
/* A sentence, where threads of a pool ran in no context though the gem could tell whose it was. */
void format_unattributed_remedy(const struct totals *totals, const struct format_options *options,
				FILE *out);
/* A cell of such a table, of at least 1024 bytes (TABLE_CELL_BYTES): fit for a screen. has_date: a
 * time needs one. */
void format_cell(const struct rows *rows, size_t row_index, enum figure field, bool has_date,
		 char *ret_text);

/*
 * The part of format_table below its tables: one line with the books and the cost of watching, and
 * a line for each loss that may have changed a figure; with has_books and has_cost all of them.
 */
void format_books(const struct totals *totals, const struct format_options *options, FILE *out);
/* The whole cost of watching (has_cost). */
void format_cost(const struct totals *totals, const struct format_options *options, FILE *out);
