/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page_text.h"

#include <string.h>
#include <sys/types.h>

#include "base/display.h"
#include "record/record_view.h"

enum {
	ESCAPED_BYTES = 4 * RECORD_VIEW_TEXT_BYTES_MAX + 1
};

static const char *entity_of(char character)
{
	switch (character) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void page_text_put(FILE *out, const char *text, size_t size_bytes)
{
	char escaped[ESCAPED_BYTES];
	size_t length = display_escape(text, size_bytes, escaped, sizeof(escaped));

	for (size_t i = 0; i < length; i++) {
		const char *entity = entity_of(escaped[i]);

		if (entity)
			(void)fputs(entity, out);
		else
			(void)fputc(escaped[i], out);
	}
}

/* The length of a special sequence at the start of text, and its escape; 0: none. A Unicode line
 * separator (e2 80 a8, e2 80 a9) that is split between two buffers is missed. Our JSON has none, as
 * display_escape turns it into \xNN; this is for other text that is put into the stream in one
 * piece. */
static size_t special_bytes(const char *text, size_t size_bytes, const char **ret_escape)
{
	static const struct {
		const char *text, *escape;
	} specials[] = {
		{ "<", "\\u003c" },
		{ ">", "\\u003e" },
		{ "&", "\\u0026" },
		{ "\xe2\x80\xa8", "\\u2028" },
		{ "\xe2\x80\xa9", "\\u2029" },
	};

	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		size_t length = strlen(specials[i].text);

		if (size_bytes >= length && memcmp(text, specials[i].text, length) == 0) {
			*ret_escape = specials[i].escape;
			return length;
		}
	}
	return 0;
}

static ssize_t write_script(void *cookie, const char *text, size_t size_bytes)
{
	FILE *out = cookie;
	const char *escape;

	for (size_t at = 0; at < size_bytes;) {
		size_t length = special_bytes(text + at, size_bytes - at, &escape);

		if (length > 0)
			(void)fputs(escape, out);
		else
			(void)fputc(text[at], out);
		at += length > 0 ? length : 1;
	}
	return (ssize_t)size_bytes;
}

FILE *page_text_open_script(FILE *out)
{
	return fopencookie(out, "w", (cookie_io_functions_t){ .write = write_script });
}
