/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/csv_part.h"

#include <string.h>

#include "base/display.h"
#include "reader/aggregate/combination.h"

/* RFC 4180 quoting. A spreadsheet takes a cell that begins with one of = + - @ for a formula. */
void csv_part_text(const char *text, FILE *out)
{
	bool is_quoted = strpbrk(text, ",\"\r\n") != NULL;

	if (is_quoted)
		(void)fputc('"', out);
	if (text[0] != '\0' && strchr("=+-@", text[0]))
		(void)fputc('\'', out);
	for (; *text; text++) {
		if (*text == '"')
			(void)fputc('"', out);
		(void)fputc(*text, out);
	}
	if (is_quoted)
		(void)fputc('"', out);
}

void csv_part_label(struct record_text text, FILE *out)
{
	char label[COMBINATION_PART_ESCAPED_BYTES];

	(void)display_escape(text.bytes, text.size_bytes, label, sizeof(label));
	csv_part_text(label, out);
}
