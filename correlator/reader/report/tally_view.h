/* SPDX-License-Identifier: GPL-2.0-only */
/* The views of tallies (tally.h) share their options and the sheet for programs. After
 * tally_finish. The caller checks ferror(out). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "reader/aggregate/tally.h"
#include "reader/report/sheet.h"
#include "reader/report/text_printer.h"

enum {
	TALLY_SHEET_NAMES_MAX = 3
};

struct tally_view_options {
	enum output_format format;
	size_t width; /* of the screen, in columns */
	size_t top_count; /* most values, and most sums of each; 0: all */
	bool is_bold; /* the heading, by an escape sequence */
	const struct text_printer *printer; /* of the table's text; NULL: for a screen */
};

/* The columns besides those of the numbers, which have the names of their records' fields. */
struct tally_sheet_layout {
	const char *list; /* member of a document's groups that lists their sums */
	const char *names[TALLY_SHEET_NAMES_MAX]; /* columns for the name of a sum; NULL = none */
	/* Puts a name into these columns, first_column and those after it. */
	void (*put_name)(struct sheet *sheet, size_t first_column, const struct tally_name *name);
	const char *account; /* the accounts' number, in documents; NULL: they have none */
};

/* Prints in options->format, which is not FORMAT_TABLE: in a document, each group lists its sums;
 * in lines, each line is a sum of a group. 0, -ENOMEM. */
int tally_sheet_print(const struct tally *tally, const struct tally_sheet_layout *layout,
		      const struct tally_view_options *options, FILE *out);
