/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables and sentences of a text, for a screen, or for something else that prints them itself. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "reader/report/table.h"

/* Prints for something else than a screen. */
struct text_printer {
	void (*table)(const void *context, const struct table *table, FILE *out);
	void (*sentence)(const void *context, const char *text, FILE *out);
	const void *context;
};

/* printer: NULL = for a screen. */
void text_printer_table(const struct text_printer *printer, const struct table *table, FILE *out);
/* width: of the screen, in columns. A sentence has at most 511 bytes; the rest is cut. */
__attribute__((format(printf, 4, 5))) void text_printer_sentence(const struct text_printer *printer,
								 size_t width, FILE *out,
								 const char *format, ...);
