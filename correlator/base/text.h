/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes bytes of unknown origin fit to print and to store: valid UTF-8, no control characters, cut
 * to fit. Pure, holds nothing; any thread.
 *
 * Escaped as \xNN, byte by byte: sequences that are not well-formed UTF-8 (Unicode 15, table 3-7),
 * and control characters (U+0000..1F, U+007F..9F: some terminals obey the upper ones, too). A
 * backslash in the text itself stays as it is: the result is for reading, not for decoding.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum bytes of one escaped byte, and of one code point. */
enum {
	TEXT_ESCAPE_BYTES = 4,
	TEXT_CODE_POINT_BYTES = 4
};

enum text_options {
	TEXT_ASCII = 1 << 0, /* encoding not known: escape every byte above 0x7f */
	TEXT_CUT = 1 << 1, /* the input was cut: drop a last character that the cut split */
	/* For a screen or a log: also escape characters that are invisible or change how their
	 * surroundings are shown (directional marks, zero width, line separators, tags). */
	TEXT_SHOWN = 1 << 2,
};

/* Text under construction in the caller's memory: NUL-terminated after every call. */
struct text_writer {
	char *text;
	size_t capacity_bytes; /* including the NUL */
	size_t length_bytes; /* excluding the NUL */
	bool is_full; /* something did not fit: further text is ignored */
};

/* Writes the NUL. capacity_bytes >= 1. */
void text_writer_init(struct text_writer *writer, char *text, size_t capacity_bytes);
/* Each appends its argument as a whole, or marks the writer full; a full writer ignores further
 * text. */
void text_writer_put(struct text_writer *writer, const void *bytes, size_t size_bytes);
void text_writer_put_escaped(struct text_writer *writer, const void *bytes, size_t size_bytes);
/* Appends a code point as UTF-8; a control character is escaped. It must be valid: at most
 * 0x10ffff, no surrogate. */
void text_writer_put_code_point(struct text_writer *writer, uint32_t code_point);

/*
 * Length of the well-formed UTF-8 character at the front of bytes (1 to 4), 0 if there is none, -1
 * if size_bytes (>= 1) ends inside a character that is well-formed so far.
 */
int text_utf8_length(const uint8_t *bytes, size_t size_bytes);

/* The code point of a character of length (1 to 4) bytes, as returned by text_utf8_length(). */
uint32_t text_code_point(const uint8_t *bytes, int length);

/* Whether text_escape() without options would leave text unchanged. */
bool text_is_clean(const char *text);

/* Writes two hex digits per byte, and a NUL: 2 * size_bytes + 1 bytes. */
void text_hex(const void *bytes, size_t size_bytes, char *ret_text);

/*
 * Writes bytes, escaped as above, into ret_text (text_bytes >= 1), NUL-terminated and cut at a
 * whole character or escape. options: enum text_options. Returns the length without the NUL.
 * TEXT_ESCAPE_BYTES * size_bytes + 1 is always enough.
 */
size_t text_escape(const void *bytes, size_t size_bytes, unsigned int options, char *ret_text,
		   size_t text_bytes);
