/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the long waits of requests (stalls.h), for people and for programs: what ended them, most
 * time first, and the longest ones. After stalls_finish. The caller checks ferror(out). */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "reader/aggregate/stalls.h"
#include "reader/profile/frames.h"
#include "reader/report/sheet.h"
#include "reader/report/table.h"
#include "reader/report/text_printer.h"

struct stalls_view_options {
	enum output_format format;
	size_t width; /* of the screen, in columns */
	size_t top_count; /* rows of each table; 0: all */
	bool is_bold; /* the headings, by an escape sequence */
	const struct frames *frames; /* after frames_finish; NULL: none were recorded */
	const struct text_printer *printer; /* of the text; NULL: for a screen */
};

/* Prints in options->format. 0, -ENOMEM. */
int stalls_view_print(const struct stalls *stalls, const struct stalls_view_options *options,
		      FILE *out);
/* Prints only the waits, all of one request, as a table; and how many are left out. */
void stalls_text_print_of_request(const struct stalls *stalls,
				  const struct stalls_view_options *options, FILE *out);
/* Writes the innermost Ruby method of a wait or a hog; "": it is not known. frames: as above. */
void stalls_text_method(const struct stalls_wait *wait, const struct frames *frames,
			char ret_text[static TABLE_CELL_BYTES]);
int stalls_text_print(const struct stalls *stalls, const struct stalls_view_options *options,
		      FILE *out);
