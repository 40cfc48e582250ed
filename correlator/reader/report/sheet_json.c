/* SPDX-License-Identifier: GPL-2.0-only */
/* A sheet as lines of JSON, and as one document. */
#include "reader/report/sheet_writer.h"

#include "reader/report/json_part.h"

static json_t *cell_value(const struct cell *cell)
{
	switch (cell->type) {
	case CELL_TEXT:
		return json_part_bytes(cell->text.bytes, cell->text.size_bytes);
	case CELL_INTEGER:
		return json_integer(cell->integer);
	case CELL_REAL:
		return json_real(cell->real);
	default:
		return json_boolean(cell->is_true);
	}
}

/* The member object of this name, made if there is none. Borrowed. */
static json_t *object_in(json_t *row, const char *name, int *r)
{
	json_t *object = json_object_get(row, name);

	if (object)
		return object;
	object = json_object();
	json_part_set(row, name, object, r);
	return object;
}

static void set_cells(const struct sheet *sheet, json_t *row, int *r)
{
	for (size_t i = 0; i < sheet->column_count && *r == 0; i++) {
		const struct sheet_column *column = &sheet->columns[i];
		const struct cell *cell = &sheet->cells[i];
		json_t *object = row;

		if (cell->type == CELL_NONE)
			continue;
		if (column->object)
			object = object_in(row, column->object, r);
		if (*r == 0)
			json_part_set(object, column->name, cell_value(cell), r);
	}
}

void sheet_json_line(struct sheet *sheet)
{
	const char *name = sheet->kinds[sheet->kind].name;
	json_t *row = json_object();

	if (name)
		json_part_set(row, "row", json_part_text(name), &sheet->r);
	if (sheet->by)
		json_part_set(row, "by", json_part_text(sheet->by), &sheet->r);
	set_cells(sheet, row, &sheet->r);
	sheet->r = json_part_print("", row, sheet->r, sheet->out);
	(void)fputc('\n', sheet->out);
}

void sheet_json_name(struct sheet *sheet, const char *name)
{
	(void)fprintf(sheet->out, "%s\"%s\":", sheet->has_members ? ",\n" : "{", name);
	sheet->has_members = true;
}

static void close_array(struct sheet *sheet)
{
	if (sheet->is_in_array)
		(void)fputc(']', sheet->out);
	sheet->is_in_array = false;
}

/* Prints empty arrays for the kinds before this one that had no row. */
static void skip_to(struct sheet *sheet, size_t kind)
{
	for (; sheet->kinds_done < kind; sheet->kinds_done++) {
		const struct sheet_kind *skipped = &sheet->kinds[sheet->kinds_done];

		if (!skipped->array || skipped->is_inner || skipped->part == SHEET_PART_OF_LINES)
			continue;
		sheet_json_name(sheet, skipped->array);
		(void)fputs("[]", sheet->out);
	}
}

static void print_row(struct sheet *sheet)
{
	const struct sheet_kind *kind = &sheet->kinds[sheet->row_kind];
	const char *before = "";
	json_t *row = sheet->row;

	if (!row)
		return;
	if (sheet->is_in_array && sheet->kinds_done == sheet->row_kind + 1) {
		before = ",\n";
	} else {
		close_array(sheet);
		skip_to(sheet, sheet->row_kind);
		sheet->kinds_done = sheet->row_kind + 1;
		sheet_json_name(sheet, kind->array ? kind->array : kind->name);
		sheet->is_in_array = kind->array != NULL;
		before = kind->array ? "[\n" : "";
	}
	sheet->row = NULL;
	sheet->r = json_part_print(before, row, sheet->r, sheet->out);
}

/* Adds an empty array for each kind of inner row, for these to be appended to. */
static void add_inner_arrays(struct sheet *sheet, size_t kind, json_t *row)
{
	for (size_t i = kind + 1; i < sheet->kind_count && sheet->kinds[i].is_inner; i++)
		if (sheet->kinds[i].array)
			json_part_set(row, sheet->kinds[i].array, json_array(), &sheet->r);
}

void sheet_json_row(struct sheet *sheet)
{
	const struct sheet_kind *kind = &sheet->kinds[sheet->kind];
	json_t *row = json_object();

	set_cells(sheet, row, &sheet->r);
	if (!kind->is_inner) {
		print_row(sheet);
		add_inner_arrays(sheet, sheet->kind, row);
		sheet->row = row;
		sheet->row_kind = sheet->kind;
	} else if (kind->array) {
		json_part_append(json_object_get(sheet->row, kind->array), row, &sheet->r);
	} else {
		json_part_set(sheet->row, kind->name, row, &sheet->r);
	}
}

void sheet_json_end_rows(struct sheet *sheet)
{
	print_row(sheet);
	close_array(sheet);
	if (sheet->r == 0)
		skip_to(sheet, sheet->kind_count);
}
