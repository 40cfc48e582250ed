/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/text_printer.h"

#include <stdarg.h>

#include "base/display.h"

enum {
	SENTENCE_BYTES = 512
};

void text_printer_table(const struct text_printer *printer, const struct table *table, FILE *out)
{
	if (printer)
		printer->table(printer->context, table, out);
	else
		(void)table_print(table, out);
}

void text_printer_sentence(const struct text_printer *printer, size_t width, FILE *out,
			   const char *format, ...)
{
	char text[SENTENCE_BYTES];
	va_list values;

	va_start(values, format);
	(void)vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	if (printer)
		printer->sentence(printer->context, text, out);
	else
		display_sentence(out, width, DISPLAY_INDENT, "%s", text);
}
