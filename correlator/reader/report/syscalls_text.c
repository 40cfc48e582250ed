/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/syscalls_view.h"

#include <string.h>

#include "base/display.h"
#include "reader/report/cell_text.h"
#include "reader/report/tally_lines.h"

enum column {
	COLUMN_SHARE = _TALLY_LINES_COLUMN_MAX,
	COLUMN_INSIDE,
	COLUMN_INSIDE_MEAN,
	COLUMN_EACH,
	_COLUMN_MAX,
};

static void write_name(const struct tally_name *name, char *ret_text, size_t text_bytes)
{
	(void)display_escape(name->text.bytes, name->text.size_bytes, ret_text, text_bytes);
}

static void write_cell(const void *context, size_t row, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct tally_lines *lines = context;
	const struct tally_line *line = &lines->lines[row];
	uint64_t requests = tally_lines_requests(line);
	int64_t calls = line->numbers[SYSCALLS_CALLS];
	int64_t inside_ns = line->numbers[SYSCALLS_INSIDE_NS];

	(void)strcpy(ret_text, "-");
	if (column < _TALLY_LINES_COLUMN_MAX)
		tally_lines_write(lines, row, (enum tally_lines_column)column, ret_text);
	else if (column == COLUMN_SHARE)
		cell_text_share(calls, lines->tally->numbers[SYSCALLS_CALLS], ret_text);
	else if (column == COLUMN_INSIDE)
		display_duration(inside_ns, ret_text);
	else if (column == COLUMN_EACH && calls > 0)
		display_duration(inside_ns / calls, ret_text);
	else if (column == COLUMN_INSIDE_MEAN && requests > 0)
		display_duration(inside_ns / (int64_t)requests, ret_text);
}

/* Compares the calls in the records by name with those in the accounts. */
static void print_books(const struct tally *syscalls, const struct tally_view_options *options,
			FILE *out)
{
	int64_t calls = syscalls->numbers[SYSCALLS_CALLS];
	char counted[DISPLAY_NUMBER_BYTES], charged[DISPLAY_NUMBER_BYTES];
	char lost[DISPLAY_NUMBER_BYTES];

	display_number(calls, counted);
	display_number(syscalls->account, charged);
	display_number(syscalls->lost, lost);
	if (calls == syscalls->account)
		text_printer_sentence(options->printer, options->width, out,
				      "These are all %s calls of the accounts.", charged);
	else
		text_printer_sentence(
			options->printer, options->width, out,
			"The accounts have %s calls, these are %s: %s were lost for want "
			"of room (of all processes), and others were made while none were "
			"counted.",
			charged, counted, lost);
}

int syscalls_text_print(const struct tally *syscalls, const struct tally_view_options *options,
			FILE *out)
{
	const struct table_column columns[_COLUMN_MAX] = {
		[TALLY_LINES_NAME] = { syscalls->by, 0, true },
		[TALLY_LINES_REQUESTS] = { "requests", 4, false },
		[TALLY_LINES_CALLS] = { "calls", 1, false },
		[TALLY_LINES_CALLS_MEAN] = { "a request", 0, false },
		[COLUMN_SHARE] = { "share", 5, false },
		[COLUMN_INSIDE] = { "inside", 2, false },
		[COLUMN_INSIDE_MEAN] = { "inside a request", 3, false },
		[COLUMN_EACH] = { "each", 6, false },
	};
	const struct tally_table table = { .columns = columns,
					   .column_count = _COLUMN_MAX,
					   .write_name = write_name,
					   .cell = write_cell };
	int r = tally_lines_print(syscalls, &table, options, out);

	if (r == 0)
		print_books(syscalls, options, out);
	return r;
}
