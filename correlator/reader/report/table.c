/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/table.h"

#include <string.h>

#include "base/display.h"
#include "base/text.h"

enum {
	GAP = 2
};

struct layout {
	size_t widths[TABLE_COLUMNS_MAX];
	bool is_dropped[TABLE_COLUMNS_MAX];
};

static bool write_text(const struct table *table, size_t row,
		       char ret_text[static TABLE_CELL_BYTES])
{
	return table->text && table->text(table->context, row, ret_text);
}

static void measure(const struct table *table, struct layout *layout)
{
	char cell[TABLE_CELL_BYTES];

	for (size_t column = 0; column < table->column_count; column++) {
		size_t *width = &layout->widths[column];

		*width = display_columns(table->columns[column].title);
		for (size_t row = 0; row < table->row_count; row++) {
			size_t columns;

			if (column > 0 && write_text(table, row, cell))
				continue;
			table->cell(table->context, row, column, cell);
			columns = display_columns(cell);
			*width = columns > *width ? columns : *width;
		}
	}
	if (layout->widths[0] > TABLE_FIRST_COLUMN_MAX)
		layout->widths[0] = TABLE_FIRST_COLUMN_MAX;
}

/* The width of all columns but the first, with the gaps before them. */
static size_t width_of_others(const struct table *table, const struct layout *layout)
{
	size_t width = 0;

	for (size_t column = 1; column < table->column_count; column++)
		width += layout->is_dropped[column] ? 0 : GAP + layout->widths[column];
	return width;
}

static size_t find_least_important(const struct table *table, const struct layout *layout)
{
	size_t found = 0;

	for (size_t column = 1; column < table->column_count; column++) {
		if (!layout->is_dropped[column] &&
		    table->columns[column].rank > table->columns[found].rank)
			found = column;
	}
	return found;
}

static void fit(const struct table *table, struct layout *layout)
{
	size_t min = table->first_column_min ? table->first_column_min : TABLE_FIRST_COLUMN_MIN;
	size_t wanted = layout->widths[0] < min ? layout->widths[0] : min;
	size_t others = width_of_others(table, layout);

	while (wanted + others > table->width) {
		size_t column = find_least_important(table, layout);

		if (column == 0)
			break;
		layout->is_dropped[column] = true;
		others = width_of_others(table, layout);
	}
	if (layout->widths[0] + others > table->width)
		layout->widths[0] = wanted + others > table->width ? wanted : table->width - others;
}

static void print_cell(const struct table *table, const struct layout *layout, size_t column,
		       const char *text, FILE *out)
{
	char fitted[TABLE_CELL_BYTES];
	size_t width = layout->widths[column];
	size_t columns;

	display_fit(text, width, fitted, sizeof(fitted));
	columns = display_columns(fitted);
	if (column == 0)
		(void)fprintf(out, "%s%*s", fitted, (int)(width - columns), "");
	else if (table->columns[column].is_text)
		(void)fprintf(out, "%*s%s%*s", GAP, "", fitted, (int)(width - columns), "");
	else
		(void)fprintf(out, "%*s%s", (int)(GAP + width - columns), "", fitted);
}

static void print_rule(const struct table *table, const struct layout *layout, FILE *out)
{
	size_t width = layout->widths[0] + width_of_others(table, layout);

	for (size_t i = 0; i < width; i++)
		(void)fputs("─", out);
	(void)fputc('\n', out);
}

static void print_heading(const struct table *table, const struct layout *layout, FILE *out)
{
	if (table->is_bold)
		(void)fputs("\033[1m", out);
	for (size_t column = 0; column < table->column_count; column++) {
		if (!layout->is_dropped[column])
			print_cell(table, layout, column, table->columns[column].title, out);
	}
	(void)fputs(table->is_bold ? "\033[0m\n" : "\n", out);
}

static void print_text(const struct table *table, const struct layout *layout, size_t row,
		       const char *text, FILE *out)
{
	char cell[TABLE_CELL_BYTES], first[TABLE_CELL_BYTES];

	table->cell(table->context, row, 0, cell);
	display_fit(cell, layout->widths[0], first, sizeof(first));
	display_sentence(out, table->width, DISPLAY_INDENT, "%s%*s%s", first,
			 (int)(GAP + layout->widths[0] - display_columns(first)), "", text);
}

static void print_row(const struct table *table, const struct layout *layout, size_t row, FILE *out)
{
	char cell[TABLE_CELL_BYTES];

	for (size_t i = 0; i < TABLE_RULES_MAX; i++) {
		if (row > 0 && table->rules[i] == row)
			print_rule(table, layout, out);
	}
	if (write_text(table, row, cell)) {
		print_text(table, layout, row, cell, out);
		return;
	}
	for (size_t column = 0; column < table->column_count; column++) {
		if (layout->is_dropped[column])
			continue;
		table->cell(table->context, row, column, cell);
		print_cell(table, layout, column, cell, out);
	}
	(void)fputc('\n', out);
}

/* Prints the number of columns left out, and their names if they fit in the line. Returns the
 * number. */
static size_t print_dropped(const struct table *table, const struct layout *layout, FILE *out)
{
	char names[TABLE_CELL_BYTES], text[TABLE_CELL_BYTES], fitted[TABLE_CELL_BYTES];
	struct text_writer writer;
	size_t count = 0;

	text_writer_init(&writer, names, sizeof(names));
	for (size_t column = 1; column < table->column_count; column++) {
		const char *title = table->columns[column].title;

		if (!layout->is_dropped[column])
			continue;
		text_writer_put(&writer, count++ > 0 ? ", " : ": ", 2);
		text_writer_put(&writer, title, strlen(title));
	}
	if (count == 0 || table->is_silent)
		return count;
	(void)snprintf(text, sizeof(text), "… %zu more column%s on a wider screen", count,
		       display_plural(count));
	if (display_columns(text) + display_columns(names) > table->width)
		names[0] = '\0';
	display_fit(text, table->width, fitted, sizeof(fitted));
	(void)fprintf(out, "%s%s\n", fitted, names);
	return count;
}

size_t table_print(const struct table *table, FILE *out)
{
	struct layout layout = { 0 };

	measure(table, &layout);
	fit(table, &layout);
	print_heading(table, &layout, out);
	/* Stops early if the pipe is closed: there may be a million rows. */
	for (size_t row = 0; row < table->row_count && !ferror(out); row++)
		print_row(table, &layout, row, out);
	return print_dropped(table, &layout, out);
}
