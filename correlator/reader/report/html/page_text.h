/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Puts text of the target into a page so that it stays text. Unprintable bytes are escaped as in a
 * terminal (display_escape); characters that HTML interprets are escaped on top.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Prints text, at most RECORD_VIEW_TEXT_BYTES_MAX bytes, between tags or in a double-quoted
 * attribute. */
void page_text_put(FILE *out, const char *text, size_t size_bytes);

/*
 * A stream for the JSON of a script element, which writes to out. It replaces < > & and the two
 * Unicode line separators, which in JSON occur only in strings, by their escapes: the output has
 * neither "</script>" nor "<!--". The caller closes the stream, but not out. NULL: no memory.
 * Errors are in ferror(out).
 */
FILE *page_text_open_script(FILE *out);
