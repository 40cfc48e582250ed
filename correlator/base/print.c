/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/print.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"

char *print_shown(const char *format, va_list args)
{
	_cleanup_free_ char *raw = NULL;
	size_t shown_bytes;
	char *shown;
	int raw_bytes = vasprintf(&raw, format, args);

	if (raw_bytes < 0) {
		raw = NULL;
		return NULL;
	}
	shown_bytes = (size_t)raw_bytes * TEXT_ESCAPE_BYTES + 1;
	shown = malloc(shown_bytes);
	if (shown)
		(void)text_escape(raw, (size_t)raw_bytes, TEXT_SHOWN, shown, shown_bytes);
	return shown;
}

void print_line(FILE *out, const char *format, ...)
{
	_cleanup_free_ char *shown = NULL;
	va_list args;

	va_start(args, format);
	shown = print_shown(format, args);
	va_end(args);
	if (shown)
		(void)fprintf(out, "%s\n", shown);
}
