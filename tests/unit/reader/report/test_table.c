/* SPDX-License-Identifier: GPL-2.0-only */
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "base/display.h"
#include "reader/report/printed.h"
#include "reader/report/table.h"

enum {
	ROWS = 3,
	COLUMNS = 4
};

static const char *cells[ROWS][COLUMNS];
static struct table_column columns[COLUMNS];
static struct table table;
static size_t asked;

static void write_cell(const void *context, size_t row, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	assert_ptr_equal(context, cells);
	asked++;
	(void)snprintf(ret_text, TABLE_CELL_BYTES, "%s", cells[row][column]);
}

/* 3 + 2 + 3 + 2 + 4 + 2 + 5 columns. */
static int setup(void **state)
{
	static const struct table_column some[] = {
		{ "k", 0, false }, { "cpu", 0, false }, { "name", 2, true }, { "share", 1, false }
	};
	static const char *const values[ROWS][COLUMNS] = { { "a", "1", "x", "1 %" },
							   { "bcd", "20", "y", "-" },
							   { "e", "-", "long", "100 %" } };

	(void)state;
	memcpy(columns, some, sizeof(some));
	memcpy(cells, values, sizeof(values));
	table = (struct table){
		.columns = columns,
		.column_count = COLUMNS,
		.row_count = ROWS,
		.width = 80,
		.cell = write_cell,
		.context = cells,
	};
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

static void print(void)
{
	FILE *out = printed_begin();

	table_print(&table, out);
	printed_end(out);
}

static char note[128]; /* of what was left out; "" = none */

static void take_note(void)
{
	char *at = strstr(printed, "\n…");

	(void)snprintf(note, sizeof(note), "%s", at ? at + 1 : "");
	if (at)
		at[1] = '\0';
}

static void expect(const char *expected)
{
	print();
	take_note();
	assert_string_equal(printed, expected);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, printed_forget)

FIXTURE_TEST(table_names_dropped_columns_if_they_fit)
{
	columns[1].title = "a title of forty columns, which are many";
	table.width = 47;
	print();
	take_note();
	assert_string_equal(note, "… 2 more columns on a wider screen: name, share\n");
	table.width = 46;
	print();
	take_note();
	assert_string_equal(note, "… 2 more columns on a wider screen\n");
	columns[1].title = "cpu";
	table.width = 20;
	print();
	take_note();
	assert_string_equal(note, "… 1 more c…er screen\n");
	table.width = 21;
	print();
	take_note();
	assert_string_equal(note, "");
}

FIXTURE_TEST(table_columns_are_as_wide_as_their_cells)
{
	expect("k    cpu  name  share\n"
	       "a      1  x       1 %\n"
	       "bcd   20  y         -\n"
	       "e      -  long  100 %\n");
}

FIXTURE_TEST(table_drops_columns_only_if_too_narrow)
{
	table.width = 21;
	expect("k    cpu  name  share\n"
	       "a      1  x       1 %\n"
	       "bcd   20  y         -\n"
	       "e      -  long  100 %\n");
	table.width = 20;
	expect("k    cpu  share\n"
	       "a      1    1 %\n"
	       "bcd   20      -\n"
	       "e      -  100 %\n");
	table.width = 15;
	expect("k    cpu  share\n"
	       "a      1    1 %\n"
	       "bcd   20      -\n"
	       "e      -  100 %\n");
	table.width = 14;
	expect("k    cpu\n"
	       "a      1\n"
	       "bcd   20\n"
	       "e      -\n");
	/* Of those that are never left out nothing is cut, either. */
	table.width = 1;
	expect("k    cpu\n"
	       "a      1\n"
	       "bcd   20\n"
	       "e      -\n");
}

FIXTURE_TEST(table_drops_first_of_equal_rank)
{
	columns[1].rank = columns[2].rank = columns[3].rank = 1;
	table.width = 20;
	expect("k    name  share\n"
	       "a    x       1 %\n"
	       "bcd  y         -\n"
	       "e    long  100 %\n");
	table.width = 3;
	expect("k  \n"
	       "a  \n"
	       "bcd\n"
	       "e  \n");
}

static bool write_second_row(const void *context, size_t row,
			     char ret_text[static TABLE_CELL_BYTES])
{
	assert_ptr_equal(context, cells);
	if (row != 1)
		return false;
	(void)snprintf(ret_text, TABLE_CELL_BYTES, "12 more of them");
	return true;
}

FIXTURE_TEST(table_row_text_does_not_widen_columns)
{
	table.text = write_second_row;
	cells[1][2] = "not asked for";
	expect("k    cpu  name  share\n"
	       "a      1  x       1 %\n"
	       "bcd  12 more of them\n"
	       "e      -  long  100 %\n");
	/* It is broken where the screen ends. */
	table.width = 15;
	print();
	assert_non_null(strstr(printed, "\nbcd  12 more\n    of them\n"));
}

FIXTURE_TEST(table_rules_precede_rows_at_table_width)
{
	table.rules[0] = 1;
	table.rules[1] = 2;
	table.column_count = 2;
	expect("k    cpu\n"
	       "a      1\n"
	       "────────\n"
	       "bcd   20\n"
	       "────────\n"
	       "e      -\n");
	table.column_count = COLUMNS;
	table.rules[0] = 0;
	table.width = 20;
	expect("k    cpu  share\n"
	       "a      1    1 %\n"
	       "bcd   20      -\n"
	       "───────────────\n"
	       "e      -  100 %\n");
}

FIXTURE_TEST(table_heading_is_bold_on_request)
{
	table.is_bold = true;
	table.column_count = 1;
	table.row_count = 1;
	expect("\033[1mk\033[0m\n"
	       "a\n");
}

static size_t first_line_columns(const char *line)
{
	char first[256];

	(void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(line, "\n"), line);
	return display_columns(first);
}

FIXTURE_TEST(table_shrinks_first_column_to_its_minimum)
{
	static const struct {
		size_t screen, columns;
		bool has_name;
	} cases[] = {
		/* At most 60, and 18 for the others. */
		{ 90, 78, true },
		{ 78, 78, true },
		{ 77, 77, true },
		/* At least 20: then others go, and it has their room. */
		{ 38, 38, true },
		{ 37, 37, false },
		{ 32, 32, false },
		{ 25, 25, false },
		{ 24, 25, false },
	};

	cells[0][0] = "0123456789012345678901234567890123456789012345678901234567890z";
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		table.width = cases[i].screen;
		print();
		assert_int_equal(first_line_columns(printed), cases[i].columns);
		assert_int_equal(first_line_columns(strchr(printed, '\n') + 1), cases[i].columns);
		assert_true((strstr(printed, "\n… ") == NULL) == cases[i].has_name);
		assert_non_null(strstr(printed, "…"));
	}
}

FIXTURE_TEST(table_drops_columns_for_wider_first_column)
{
	cells[1][0] = "a text of twenty-six chars";
	table.width = 40;
	print();
	assert_null(strstr(printed, "\n… "));
	assert_null(strstr(printed, cells[1][0]));
	table.first_column_min = 26;
	print();
	assert_non_null(strstr(printed, "\n… "));
	assert_non_null(strstr(printed, cells[1][0]));
}

FIXTURE_TEST(table_measures_cells_in_display_columns)
{
	cells[0][0] = "日本";
	cells[0][2] = "é";
	expect("k     cpu  name  share\n"
	       "日本    1  é       1 %\n"
	       "bcd    20  y         -\n"
	       "e       -  long  100 %\n");
}

FIXTURE_TEST(table_stops_printing_after_write_error)
{
	FILE *out = fopen("/dev/full", "we");

	assert_non_null(out);
	setbuf(out, NULL);
	asked = 0;
	table_print(&table, out);
	assert_true(ferror(out));
	/* To be measured, and no more. */
	assert_int_equal(asked, ROWS * COLUMNS);
	(void)fclose(out);
}
