/* SPDX-License-Identifier: GPL-2.0-only */
/* A sheet as CSV (RFC 4180): a line of names, then one for each row. */
#include "reader/report/sheet_writer.h"

#include <inttypes.h>

#include "reader/report/csv_part.h"

static const char end_of_line[] = "\r\n";

static void print_name(const struct sheet_column *column, FILE *out)
{
	if (!column->csv_name && column->object)
		(void)fprintf(out, "%s_", column->object);
	csv_part_text(column->csv_name ? column->csv_name : column->name, out);
}

static void print_cell(const struct cell *cell, FILE *out)
{
	switch (cell->type) {
	case CELL_TEXT:
		csv_part_label(cell->text, out);
		break;
	case CELL_INTEGER:
		(void)fprintf(out, "%" PRId64, cell->integer);
		break;
	case CELL_REAL:
		(void)fprintf(out, "%.9g", cell->real);
		break;
	case CELL_BOOL:
		(void)fputs(cell->is_true ? "true" : "false", out);
		break;
	default:
		break;
	}
}

static bool names_rows(const struct sheet *sheet)
{
	for (size_t i = 0; i < sheet->kind_count; i++)
		if (sheet->kinds[i].part != SHEET_PART_OF_DOCUMENTS && sheet->kinds[i].name)
			return true;
	return false;
}

void sheet_csv_header(const struct sheet *sheet)
{
	bool has_names = names_rows(sheet);

	if (has_names)
		(void)fputs("row", sheet->out);
	for (size_t i = 0; i < sheet->column_count; i++) {
		if (i > 0 || has_names)
			(void)fputc(',', sheet->out);
		print_name(&sheet->columns[i], sheet->out);
	}
	(void)fputs(end_of_line, sheet->out);
}

void sheet_csv_row(const struct sheet *sheet)
{
	const char *name = sheet->kinds[sheet->kind].name;

	if (name)
		(void)fputs(name, sheet->out);
	for (size_t i = 0; i < sheet->column_count; i++) {
		if (i > 0 || name)
			(void)fputc(',', sheet->out);
		print_cell(&sheet->cells[i], sheet->out);
	}
	(void)fputs(end_of_line, sheet->out);
}
