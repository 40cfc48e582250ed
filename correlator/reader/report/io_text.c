/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/io_view.h"

#include <string.h>

#include "base/display.h"
#include "base/text.h"
#include "reader/report/tally_lines.h"

enum {
	NAME_COLUMNS_MIN = 32, /* an address with its port is not cut */
};

enum column {
	COLUMN_IN = _TALLY_LINES_COLUMN_MAX,
	COLUMN_IN_MEAN,
	COLUMN_OUT,
	COLUMN_OUT_MEAN,
	COLUMN_CONNECTS,
	COLUMN_ANSWER,
	_COLUMN_MAX,
};

/* "tcp 10.0.0.5:5432", "tcp clients of 0.0.0.0:3000", "file". */
static void write_name(const struct tally_name *name, char *ret_text, size_t text_bytes)
{
	char text[TALLY_NAME_BYTES_MAX + sizeof(" clients of ")];
	struct io_end end = io_end_of(name);
	struct text_writer writer;

	text_writer_init(&writer, text, sizeof(text));
	text_writer_put(&writer, end.on.bytes, end.on.size_bytes);
	if (end.is_accepted)
		text_writer_put(&writer, " clients of", strlen(" clients of"));
	if (end.peer.size_bytes > 0) {
		text_writer_put(&writer, " ", 1);
		text_writer_put(&writer, end.peer.bytes, end.peer.size_bytes);
	}
	(void)display_escape(text, writer.length_bytes, ret_text, text_bytes);
}

/* The mean time until the other end answered: a connect ended, or an answer of DNS was read. */
static void write_answer(const int64_t *numbers, char ret_text[static TABLE_CELL_BYTES])
{
	if (numbers[IO_ANSWERS] > 0)
		display_duration(numbers[IO_ANSWER_NS] / numbers[IO_ANSWERS], ret_text);
	else if (numbers[IO_CONNECTS] > 0)
		display_duration(numbers[IO_CONNECT_NS] / numbers[IO_CONNECTS], ret_text);
}

static void write_cell(const void *context, size_t row, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct tally_lines *lines = context;
	const struct tally_line *line = &lines->lines[row];
	int64_t requests = (int64_t)tally_lines_requests(line);

	(void)strcpy(ret_text, "-");
	if (column < _TALLY_LINES_COLUMN_MAX)
		tally_lines_write(lines, row, (enum tally_lines_column)column, ret_text);
	else if (column == COLUMN_IN)
		display_bytes(line->numbers[IO_IN_BYTES], ret_text);
	else if (column == COLUMN_IN_MEAN && requests > 0)
		display_bytes(line->numbers[IO_IN_BYTES] / requests, ret_text);
	else if (column == COLUMN_OUT)
		display_bytes(line->numbers[IO_OUT_BYTES], ret_text);
	else if (column == COLUMN_OUT_MEAN && requests > 0)
		display_bytes(line->numbers[IO_OUT_BYTES] / requests, ret_text);
	else if (column == COLUMN_CONNECTS)
		display_number(line->numbers[IO_CONNECTS], ret_text);
	/* A mean over several peers would describe none of them. */
	else if (column == COLUMN_ANSWER && line->sum)
		write_answer(line->numbers, ret_text);
}

/* Says what the numbers do not include. */
static void print_missing(const struct tally *io, const struct tally_view_options *options,
			  FILE *out)
{
	char lost[DISPLAY_NUMBER_BYTES];

	display_number(io->lost, lost);
	if (io->lost > 0)
		text_printer_sentence(
			options->printer, options->width, out,
			"%s call%s (of all processes) %s in no record, for want of room.", lost,
			display_plural((uint64_t)io->lost), io->lost == 1 ? "is" : "are");
	text_printer_sentence(options->printer, options->width, out,
			      "What io_uring and memory-mapped files transfer is not seen.");
}

int io_text_print(const struct tally *io, const struct tally_view_options *options, FILE *out)
{
	const struct table_column columns[_COLUMN_MAX] = {
		[TALLY_LINES_NAME] = { io->by, 0, true },
		[TALLY_LINES_REQUESTS] = { "requests", 4, false },
		[TALLY_LINES_CALLS] = { "calls", 2, false },
		[TALLY_LINES_CALLS_MEAN] = { "a request", 5, false },
		[COLUMN_IN] = { "in", 0, false },
		[COLUMN_IN_MEAN] = { "in a request", 6, false },
		[COLUMN_OUT] = { "out", 0, false },
		[COLUMN_OUT_MEAN] = { "out a request", 7, false },
		[COLUMN_CONNECTS] = { "connects", 3, false },
		[COLUMN_ANSWER] = { "answer", 1, false },
	};
	const struct tally_table table = { .columns = columns,
					   .column_count = _COLUMN_MAX,
					   .first_column_min = NAME_COLUMNS_MIN,
					   .write_name = write_name,
					   .cell = write_cell };
	int r = tally_lines_print(io, &table, options, out);

	if (r == 0)
		print_missing(io, options, out);
	return r;
}
