/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines of a label and a figure, below a title: the books, and what watching cost. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "reader/report/format.h"

enum {
	LABEL_WIDTH = 22,
	LABEL_INDENT = 2, /* in front of it */
};

/* An empty line and the title. */
void label_title(const char *title, const struct format_options *options, FILE *out);
/* The label alone: its figure, of 10 columns, follows. */
void label_print(const char *label, FILE *out);
/* With a time and what part it is of the whole, where that is above 0. The line goes on. */
void label_part(const char *label, int64_t ns, int64_t whole_ns, FILE *out);
/* The same, and the line ends. */
void label_line(const char *label, int64_t ns, int64_t whole_ns, FILE *out);
