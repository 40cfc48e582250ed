/* SPDX-License-Identifier: GPL-2.0-only */
/* What was printed for people, by its lines: how wide its columns are is not looked at. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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
