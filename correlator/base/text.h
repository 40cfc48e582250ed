/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Making bytes of unknown origin fit to print and to store: valid UTF-8, no control characters,
 * cut to fit. Pure, holds nothing; any thread.
 *
 * Escaped as \xNN, byte by byte: what is not well-formed UTF-8 (Unicode 15, table 3-7), and control
 * characters (U+0000..1F, U+007F..9F: some terminals obey the upper ones, too). A backslash of the
 * text itself stays as it is: the result is for reading, not for turning back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that one byte can become, and that one code point can take. */
enum {
	TEXT_ESCAPE_BYTES = 4,
	TEXT_CODE_POINT_BYTES = 4
};

enum text_options {
	TEXT_ASCII = 1 << 0, /* the encoding is not known: escape every byte above 0x7f */
	TEXT_CUT = 1 << 1, /* the input goes on: drop a last character that the cut split */
	/* For a screen or a log: escape also characters that show nothing, and change what is shown
	 * around them (marks of direction, zero width, separators of lines, tags). */
	TEXT_SHOWN = 1 << 2,
};

/* Text under construction in the caller's memory: NUL-terminated after every call. */
struct text_writer {
	char *text;
	size_t capacity_bytes; /* with the NUL */
	size_t length_bytes; /* without it */
	bool is_full; /* something did not fit: nothing more is taken */
};

/* capacity_bytes >= 1. Writes the NUL. */
void text_writer_init(struct text_writer *writer, char *text, size_t capacity_bytes);
/* Each takes its argument whole, or marks the writer full and takes nothing from then on. */
void text_writer_put(struct text_writer *writer, const void *bytes, size_t size_bytes);
void text_writer_put_escaped(struct text_writer *writer, const void *bytes, size_t size_bytes);
/* A code point as UTF-8; a control character, escaped. It must be one: no surrogate, <= 0x10ffff.
 */
void text_writer_put_code_point(struct text_writer *writer, uint32_t code_point);

/*
 * Bytes of the well-formed UTF-8 character at the front of bytes (1 to 4), 0 when there is none,
 * -1 when size_bytes (>= 1) ends inside a character that is well-formed so far.
 */
int text_utf8_length(const uint8_t *bytes, size_t size_bytes);

/* The code point of a character of length (1 to 4) bytes, as text_utf8_length() has it. */
uint32_t text_code_point(const uint8_t *bytes, int length);

/* Whether text_escape(), without options, would leave it as it is. */
bool text_is_clean(const char *text);

/* Two digits a byte, and the NUL: 2 * size_bytes + 1 bytes of ret_text. */
void text_hex(const void *bytes, size_t size_bytes, char *ret_text);

/*
 * Writes bytes, escaped as above, into ret_text (text_bytes >= 1), NUL-terminated and cut to fit at
 * a whole character or escape. options: enum text_options. Returns the length without the NUL.
 * TEXT_ESCAPE_BYTES * size_bytes + 1 always fits.
 */
size_t text_escape(const void *bytes, size_t size_bytes, unsigned int options, char *ret_text,
		   size_t text_bytes);
