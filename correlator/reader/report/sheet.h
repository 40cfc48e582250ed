/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A view for programs: rows of typed cells, printed as CSV, as a line of JSON for each row, or as
 * one JSON document. The view names its columns and the kinds of its rows, then gives the rows in
 * order; what each format makes of them is told here alone. Only the row that is being filled is
 * kept, and in a document the row around it: a sheet of a million rows needs no memory for them.
 *
 * A cell without a value is empty in CSV, and an absent member in JSON.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "reader/report/cell.h"

enum output_format {
	FORMAT_TABLE = 0, /* text for people: no sheet */
	FORMAT_JSON = 1,
	FORMAT_CSV = 2,
	FORMAT_NDJSON = 3,
	_FORMAT_MAX
};

enum {
	SHEET_COLUMNS_MAX = 256
};

struct sheet_column {
	const char
		*object; /* the member of a row's JSON that the cell is in; NULL: the row itself */
	const char *name; /* in JSON; CSV has the object's name and a _ in front of it */
	const char *csv_name; /* CSV's own; NULL: that */
	bool is_inherited; /* in CSV and lines, inner rows repeat the cell of the row around them */
};

/* Which formats have a kind of rows. */
enum sheet_part {
	SHEET_PART_OF_ALL = 0,
	SHEET_PART_OF_DOCUMENTS = 1,
	SHEET_PART_OF_LINES = 2, /* CSV, and lines of JSON */
};

struct sheet_kind {
	const char *name; /* the value of `row' in lines; NULL: they have no such column */
	const char *array; /* a document's member with all of them; NULL: one row, by its name */
	bool is_inner; /* in a document a member of the last row that is not */
	enum sheet_part part;
};

struct sheet {
	enum output_format format;
	FILE *out;
	const char *by; /* what rows are by: a member of documents and of lines of JSON; or NULL */
	const struct sheet_kind *kinds; /* in the order of their rows; borrowed */
	size_t kind_count;
	struct sheet_column columns[SHEET_COLUMNS_MAX];
	size_t column_count;
	size_t kind; /* of the row that is being filled */
	struct cell cells[SHEET_COLUMNS_MAX]; /* of it */
	struct cell around[SHEET_COLUMNS_MAX]; /* of the last row that is not inner */
	int r;
	/* A document's: */
	json_t *row; /* the last one that is not inner, until its inner ones have come */
	size_t row_kind;
	size_t kinds_done; /* kinds before this one have their member */
	bool has_members;
	bool is_in_array;
};

/* Not of FORMAT_TABLE. Borrows kinds, by, and the names of columns. */
void sheet_init(struct sheet *sheet, enum output_format format, const char *by,
		const struct sheet_kind *kinds, size_t kind_count, FILE *out);

/* Adds a column, of a member object or none (NULL), and returns its index. */
size_t sheet_add(struct sheet *sheet, const char *object, const char *name);

/* After the last column: CSV's first line. */
void sheet_begin(struct sheet *sheet);

/* Begins a row, without values. Kinds come in order, but for inner ones. */
void sheet_row(struct sheet *sheet, size_t kind);
/* Sets a cell of it. Borrows texts: those of inherited columns until the next row that is not
 * inner, others until sheet_end_row. At most COMBINATION_PART_BYTES_MAX bytes each. */
void sheet_put(struct sheet *sheet, size_t column, struct cell cell);
/* Prints it, or keeps its JSON until it is whole. */
void sheet_end_row(struct sheet *sheet);

/* Whether to go on: no memory has lacked, and the stream takes what is written. */
bool sheet_goes_on(const struct sheet *sheet);

/* After the last row: a document's arrays are whole, and members may follow. */
void sheet_end_rows(struct sheet *sheet);
/* Then a document may have rows of other kinds, with columns of their own: true. Others have none.
 */
bool sheet_next(struct sheet *sheet, const struct sheet_kind *kinds, size_t kind_count);
/* A document's own member, before its rows or behind them; takes the value. Others ignore it. */
void sheet_member(struct sheet *sheet, const char *name, json_t *value);
/* The same, of a value that the caller prints: true if there is to be one. */
bool sheet_open_member(struct sheet *sheet, const char *name);

/* Ends it, after sheet_end_rows. 0, or -ENOMEM. The caller checks ferror(out). */
int sheet_finish(struct sheet *sheet);
