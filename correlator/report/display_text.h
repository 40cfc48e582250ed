/*
 * Text of unknown origin on a screen: escaped, measured in columns, and cut to fit. On top of
 * text_escape, characters that show nothing but change what is shown around them (direction
 * marks, zero-width and line separators) are escaped too. Widths are right under a UTF-8 LC_CTYPE
 * locale; in any other one each character counts as one column.
 */
#pragma once

#include <stddef.h>

/* Writes text, escaped, NUL-terminated, cut at a whole character; returns its length. */
size_t display_text_escape(const char *text, size_t size_bytes, char *ret_text, size_t text_bytes);

/* Columns that an escaped text takes. */
size_t display_text_columns(const char *text);

/* Cuts an escaped text in the middle, with "…" there, to at most columns (>= 1) columns and
 * text_bytes (>= 4) bytes. */
void display_text_fit(const char *text, size_t columns, char *ret_text, size_t text_bytes);
