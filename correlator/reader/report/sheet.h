/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A view for programs: rows of typed cells, printed as CSV, as one line of JSON per row, or as one
 * JSON document. The view names its columns and the kinds of its rows, then puts the rows in order;
 * only this module knows what each format makes of them. It keeps only the row being filled and,
 * for a document, the row around it: its memory does not grow with the rows.
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
	const char *object; /* member of a row's JSON that holds the cell; NULL: the row itself */
	const char *name; /* in JSON; CSV puts the object's name and a _ before it */
	const char *csv_name; /* name in CSV; NULL: as above */
	bool is_inherited; /* in CSV and lines, inner rows repeat the cell of the row around them */
};

/* The formats that have a kind of rows. */
enum sheet_part {
	SHEET_PART_OF_ALL = 0,
	SHEET_PART_OF_DOCUMENTS = 1,
	SHEET_PART_OF_LINES = 2, /* "lines": CSV, and lines of JSON */
};

struct sheet_kind {
	const char *name; /* value of column `row' in CSV and lines; NULL: no such column */
	const char *array; /* document member that lists them; NULL: one row, by its name */
	bool is_inner; /* in a document, inside the last row that is not inner */
	enum sheet_part part;
};

struct sheet {
	enum output_format format;
	FILE *out;
	const char *by; /* key of the rows: member `by' of documents and lines; or NULL */
	const struct sheet_kind *kinds; /* in the order of their rows; borrowed */
	size_t kind_count;
	bool has_inner; /* some kind is inner */
	struct sheet_column columns[SHEET_COLUMNS_MAX];
	size_t column_count;
	size_t key_column; /* 1 + index of sheet_add_key's; 0 = none */
	size_t kind; /* of the row being filled */
	struct cell cells[SHEET_COLUMNS_MAX]; /* of the row being filled */
	struct cell around[SHEET_COLUMNS_MAX]; /* cells of the last row that is not inner */
	int r;
	/* For documents: */
	json_t *row; /* the last row that is not inner, until its inner rows are in it */
	size_t row_kind;
	size_t kinds_done; /* kinds below this index have their member */
	bool has_members;
	bool is_in_array;
};

/* format is not FORMAT_TABLE. Borrows kinds, by, and the names of columns. */
void sheet_init(struct sheet *sheet, enum output_format format, const char *by,
		const struct sheet_kind *kinds, size_t kind_count, FILE *out);

/* Adds a column of the member `object`, or of the row itself (NULL), and returns its index. */
size_t sheet_add(struct sheet *sheet, const char *object, const char *name);

/* Adds the column with the value of the key `by`. */
size_t sheet_add_key(struct sheet *sheet);

/* After the last column: names the key's column `key' if another member of its rows has the key's
 * name; prints CSV's header. */
void sheet_begin(struct sheet *sheet);

/* Begins a row without values. Kinds come in order, except inner ones. */
void sheet_row(struct sheet *sheet, size_t kind);
/* Sets a cell of the row. Borrows texts: those of inherited columns until the next row that is not
 * inner, others until sheet_end_row. At most COMBINATION_PART_BYTES_MAX bytes each. */
void sheet_put(struct sheet *sheet, size_t column, struct cell cell);
/* Prints the row; a document keeps its JSON until it is complete. */
void sheet_end_row(struct sheet *sheet);

/* Whether to continue: no allocation failed, and the stream has no error. */
bool sheet_goes_on(const struct sheet *sheet);

/* After the last row: completes a document's arrays; members may follow. */
void sheet_end_rows(struct sheet *sheet);
/* After sheet_end_rows: begins rows of other kinds in a document, with their own columns. False:
 * not a document, or sheet_goes_on is false. */
bool sheet_next(struct sheet *sheet, const struct sheet_kind *kinds, size_t kind_count);
/* Adds a member to a document, before or after its rows, and takes over the value. Other formats
 * ignore it. */
void sheet_member(struct sheet *sheet, const char *name, json_t *value);
/* The same for a value that the caller prints. True: the caller must print it. */
bool sheet_open_member(struct sheet *sheet, const char *name);

/* Ends the sheet, after sheet_end_rows. 0, or -ENOMEM. The caller checks ferror(out). */
int sheet_finish(struct sheet *sheet);
