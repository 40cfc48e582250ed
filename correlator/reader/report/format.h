/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The report as a table for people, and as JSON and CSV for programs. All read totals and write to
 * a stream; the caller checks ferror(out). "Not measured" is "-", an absent member, an empty cell.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/aggregate/rows.h"
#include "reader/aggregate/totals.h"
#include "reader/query/input.h"

struct format_options {
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

/* Each: 0 or -ENOMEM. JSON and CSV give the first grouping, the table all of them that have groups
 * (the first always). */
int format_table(const struct totals *totals, const struct format_options *options, FILE *out);
int format_json(const struct totals *totals, const struct format_options *options, FILE *out);
/* A line of JSON for each row. */
int format_ndjson(const struct totals *totals, const struct format_options *options, FILE *out);
int format_csv(const struct totals *totals, const struct format_options *options, FILE *out);

/* The same over time (series.h), where the first grouping was split. */
int format_series_table(const struct totals *totals, const struct format_options *options,
			FILE *out);
int format_series_json(const struct totals *totals, const struct format_options *options,
		       FILE *out);
int format_series_ndjson(const struct totals *totals, const struct format_options *options,
			 FILE *out);
int format_series_csv(const struct totals *totals, const struct format_options *options, FILE *out);

/* What format_table prints above its tables: the recording. */
void format_heading(const struct totals *totals, const struct format_options *options, FILE *out);
/* What format_json gives behind its rows: members, each with a comma in front. 0, -ENOMEM. */
int format_json_rest(const struct totals *totals, const struct format_options *options, FILE *out);
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
