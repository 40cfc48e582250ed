/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a test had printed last, and of what is for people its lines: how wide columns are is not
 * looked at. Behind cmocka.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *printed; /* NUL-terminated, once printed_end() was called */

enum {
	PRINTED_LINE_BYTES = 1024
};

/* One blank for several, none in front; the same bytes else. */
static inline void printed_squeeze(const char *line, size_t size_bytes,
				   char ret_line[static PRINTED_LINE_BYTES])
{
	size_t used = 0;

	for (size_t i = 0; i < size_bytes && used < PRINTED_LINE_BYTES - 1; i++) {
		bool is_blank = line[i] == ' ';

		if (!is_blank || (used > 0 && ret_line[used - 1] != ' '))
			ret_line[used++] = line[i];
	}
	ret_line[used] = '\0';
}

/* Some line is just this. */
static inline bool printed_has_line(const char *text, const char *line)
{
	while (*text) {
		size_t size_bytes = strcspn(text, "\n");
		char squeezed[PRINTED_LINE_BYTES];

		printed_squeeze(text, size_bytes, squeezed);
		if (!strcmp(squeezed, line))
			return true;
		text += size_bytes + (text[size_bytes] == '\n');
	}
	return false;
}

/* Where to print it, instead of what was printed before. */
static inline FILE *printed_begin(void)
{
	static size_t size_bytes;
	FILE *out;

	free(printed);
	out = open_memstream(&printed, &size_bytes);
	assert_non_null(out);
	return out;
}

static inline void printed_end(FILE *out)
{
	assert_int_equal(fclose(out), 0);
}

/* A tear-down. */
static inline int printed_forget(void **state)
{
	(void)state;
	free(printed);
	printed = NULL;
	return 0;
}

static inline void says(const char *line)
{
	if (!printed_has_line(printed, line))
		fail_msg("no line `%s' in:\n%s", line, printed);
}

static inline void says_nothing_of(const char *part)
{
	if (strstr(printed, part))
		fail_msg("`%s' in:\n%s", part, printed);
}
