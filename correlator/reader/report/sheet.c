/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/sheet.h"

#include <assert.h>
#include <string.h>

#include "reader/report/json_part.h"
#include "reader/report/sheet_writer.h"

void sheet_init(struct sheet *sheet, enum output_format format, const char *by,
		const struct sheet_kind *kinds, size_t kind_count, FILE *out)
{
	assert(format != FORMAT_TABLE);
	*sheet = (struct sheet){
		.format = format, .out = out, .by = by, .kinds = kinds, .kind_count = kind_count
	};
	for (size_t i = 0; i < kind_count; i++)
		sheet->has_inner |= kinds[i].is_inner;
	if (by && format == FORMAT_JSON)
		sheet_member(sheet, "by", json_part_text(by));
}

size_t sheet_add(struct sheet *sheet, const char *object, const char *name)
{
	assert(sheet->column_count < SHEET_COLUMNS_MAX);
	sheet->columns[sheet->column_count] = (struct sheet_column){ object, name, NULL, false };
	return sheet->column_count++;
}

size_t sheet_add_key(struct sheet *sheet)
{
	sheet->key_column = sheet->column_count + 1;
	return sheet_add(sheet, NULL, sheet->by);
}

/* Whether a member other than the key's has the key's name. */
static bool is_name_taken(const struct sheet *sheet)
{
	bool is_taken = strcmp(sheet->by, "row") == 0 || strcmp(sheet->by, "by") == 0;

	for (size_t i = 0; i < sheet->column_count; i++) {
		const struct sheet_column *column = &sheet->columns[i];
		const char *member = column->object ? column->object : column->name;

		is_taken |= i + 1 != sheet->key_column && strcmp(member, sheet->by) == 0;
	}
	for (size_t i = 0; i < sheet->kind_count; i++)
		is_taken |= sheet->kinds[i].is_inner && sheet->kinds[i].array &&
			    strcmp(sheet->kinds[i].array, sheet->by) == 0;
	return is_taken;
}

void sheet_begin(struct sheet *sheet)
{
	if (sheet->key_column && is_name_taken(sheet))
		sheet->columns[sheet->key_column - 1].name = "key";
	if (sheet->format == FORMAT_CSV)
		sheet_csv_header(sheet);
}

void sheet_row(struct sheet *sheet, size_t kind)
{
	bool inherits = sheet->kinds[kind].is_inner && sheet->format != FORMAT_JSON;

	sheet->kind = kind;
	memset(sheet->cells, 0, sheet->column_count * sizeof(sheet->cells[0]));
	for (size_t i = 0; inherits && i < sheet->column_count; i++)
		if (sheet->columns[i].is_inherited)
			sheet->cells[i] = sheet->around[i];
}

void sheet_put(struct sheet *sheet, size_t column, struct cell cell)
{
	assert(column < sheet->column_count);
	sheet->cells[column] = cell;
}

void sheet_end_row(struct sheet *sheet)
{
	const struct sheet_kind *kind = &sheet->kinds[sheet->kind];
	enum sheet_part others =
		sheet->format == FORMAT_JSON ? SHEET_PART_OF_LINES : SHEET_PART_OF_DOCUMENTS;

	if (!kind->is_inner && sheet->has_inner)
		memcpy(sheet->around, sheet->cells, sheet->column_count * sizeof(sheet->cells[0]));
	if (kind->part == others || !sheet_goes_on(sheet))
		return;
	if (sheet->format == FORMAT_CSV)
		sheet_csv_row(sheet);
	else if (sheet->format == FORMAT_NDJSON)
		sheet_json_line(sheet);
	else
		sheet_json_row(sheet);
}

bool sheet_goes_on(const struct sheet *sheet)
{
	return sheet->r == 0 && !ferror(sheet->out);
}

void sheet_end_rows(struct sheet *sheet)
{
	if (sheet->format == FORMAT_JSON)
		sheet_json_end_rows(sheet);
}

bool sheet_next(struct sheet *sheet, const struct sheet_kind *kinds, size_t kind_count)
{
	if (sheet->format != FORMAT_JSON || !sheet_goes_on(sheet))
		return false;
	sheet->kinds = kinds;
	sheet->kind_count = kind_count;
	sheet->kinds_done = 0;
	sheet->column_count = 0;
	return true;
}

bool sheet_open_member(struct sheet *sheet, const char *name)
{
	if (sheet->format != FORMAT_JSON || !sheet_goes_on(sheet))
		return false;
	sheet_json_name(sheet, name);
	return true;
}

void sheet_member(struct sheet *sheet, const char *name, json_t *value)
{
	if (sheet_open_member(sheet, name))
		sheet->r = json_part_print("", value, 0, sheet->out);
	else
		json_decref(value);
}

int sheet_finish(struct sheet *sheet)
{
	json_decref(sheet->row);
	sheet->row = NULL;
	if (sheet->format == FORMAT_JSON && sheet->r == 0)
		(void)fputs("}\n", sheet->out);
	return sheet->r;
}
