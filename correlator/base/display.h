/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Output for people on a screen: text of unknown origin, numbers, sentences. Pure, except that
 * display_sentence() prints to a stream.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	DISPLAY_NUMBER_BYTES = 32,
	DISPLAY_INDENT = 4,
	DISPLAY_ZONE_BYTES = 13,
};

/* text_escape() of base/text.h, for a screen (TEXT_SHOWN). */
size_t display_escape(const char *text, size_t size_bytes, char *ret_text, size_t text_bytes);

/*
 * Number of columns of an escaped text: exact in a UTF-8 LC_CTYPE locale; in any other locale each
 * character counts as one column.
 */
size_t display_columns(const char *text);

/* Escapes raw (keeping the first 8 KiB of the result) and shortens it to at most columns (>= 1)
 * columns and text_bytes (>= 4) bytes, replacing the middle with "…". */
void display_fit(const char *raw, size_t columns, char *ret_text, size_t text_bytes);

/* Nanoseconds (>= 0) with four significant digits and a unit: "999 ns", "1.234 ms", "12345 s". */
void display_duration(int64_t ns, char ret_text[DISPLAY_NUMBER_BYTES]);
/* Bytes (>= 0) with one decimal, in the largest unit of which there is one: "999 B", "1.5 KiB". */
void display_bytes(int64_t bytes, char ret_text[DISPLAY_NUMBER_BYTES]);
/* Digits in groups of three: "-1,234,567". */
void display_number(int64_t number, char ret_text[DISPLAY_NUMBER_BYTES]);

/* The ending of an English noun behind a number: "", or "s" unless count is 1. */
static inline const char *display_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* Whether two instants (wall clock, ns, >= 0) fall on different local days, so that a time between
 * them needs its date. ret_zone: the time zone at first_ns, such as "CET". */
bool display_needs_date(int64_t first_ns, int64_t last_ns, char ret_zone[DISPLAY_ZONE_BYTES]);
/* Wall clock, ns, in local time to the millisecond: "10:15:02.123"; with_date "11-22 10:15:02.123".
 */
void display_time(int64_t ns, bool with_date, char ret_text[DISPLAY_NUMBER_BYTES]);

/* Prints a sentence (its first 2047 bytes), escaped and wrapped at spaces to width columns.
 * Continuation lines are indented by indent spaces. */
__attribute__((format(printf, 4, 5))) void display_sentence(FILE *out, size_t width, size_t indent,
							    const char *format, ...);
