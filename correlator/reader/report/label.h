/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines of a label and a figure below a title, for the books and the cost of watching. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "reader/report/totals_view.h"

enum {
	LABEL_WIDTH = 22,
	LABEL_INDENT = 2, /* before the label */
};

/* Prints an empty line and the title. */
void label_title(const char *title, const struct view_options *options, FILE *out);
/* Prints the label only; the caller prints its figure in 10 columns. */
void label_print(const char *label, FILE *out);
/* Prints the label, a time and, if whole_ns is above 0, its percentage of the whole, without a
 * newline. */
void label_part(const char *label, int64_t ns, int64_t whole_ns, FILE *out);
/* The same, with a newline. */
void label_line(const char *label, int64_t ns, int64_t whole_ns, FILE *out);
