/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How text of the target gets into a page and stays text there. Bytes that cannot be shown are
 * escaped as in a terminal (display_escape); what means something to HTML is escaped on top.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Prints text, at most RECORD_VIEW_TEXT_BYTES_MAX bytes of it, between tags or in an attribute in
 * double quotes. */
void page_text_put(FILE *out, const char *text, size_t size_bytes);

/*
 * A stream that writes to out what is put into it, for a script element: of < > & and the two line
 * ends of Unicode, which in JSON only stand in strings, their escapes. So neither "</script>" nor
 * "<!--" is in it. The caller closes it, not out; NULL: no memory. Errors are out's (ferror).
 */
FILE *page_text_open_script(FILE *out);
