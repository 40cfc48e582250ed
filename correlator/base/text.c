/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/text.h"

#include <string.h>

static bool is_control(uint32_t code_point)
{
	return code_point < 0x20 || (code_point >= 0x7f && code_point <= 0x9f);
}

void text_writer_init(struct text_writer *writer, char *text, size_t capacity_bytes)
{
	*writer = (struct text_writer){ .text = text, .capacity_bytes = capacity_bytes };
	text[0] = '\0';
}

void text_writer_put(struct text_writer *writer, const void *bytes, size_t size_bytes)
{
	if (writer->is_full || size_bytes >= writer->capacity_bytes - writer->length_bytes) {
		writer->is_full = true;
		return;
	}
	memcpy(writer->text + writer->length_bytes, bytes, size_bytes);
	writer->length_bytes += size_bytes;
	writer->text[writer->length_bytes] = '\0';
}

void text_writer_put_escaped(struct text_writer *writer, const void *bytes, size_t size_bytes)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *byte = bytes;

	if (size_bytes > (writer->capacity_bytes - writer->length_bytes - 1) / TEXT_ESCAPE_BYTES)
		writer->is_full = true;
	for (size_t i = 0; i < size_bytes && !writer->is_full; i++) {
		char escape[] = { '\\', 'x', digits[byte[i] >> 4], digits[byte[i] & 0xf] };

		text_writer_put(writer, escape, sizeof(escape));
	}
}

void text_writer_put_code_point(struct text_writer *writer, uint32_t code_point)
{
	uint8_t bytes[TEXT_CODE_POINT_BYTES];
	size_t size_bytes;

	if (code_point < 0x80) {
		bytes[0] = (uint8_t)code_point;
		size_bytes = 1;
	} else if (code_point < 0x800) {
		bytes[0] = (uint8_t)(0xc0 | code_point >> 6);
		size_bytes = 2;
	} else if (code_point < 0x10000) {
		bytes[0] = (uint8_t)(0xe0 | code_point >> 12);
		size_bytes = 3;
	} else {
		bytes[0] = (uint8_t)(0xf0 | code_point >> 18);
		size_bytes = 4;
	}
	for (size_t i = 1; i < size_bytes; i++)
		bytes[i] = (uint8_t)(0x80 | (code_point >> (6 * (size_bytes - 1 - i)) & 0x3f));
	if (is_control(code_point))
		text_writer_put_escaped(writer, bytes, size_bytes);
	else
		text_writer_put(writer, bytes, size_bytes);
}

/*
 * Decodes the first byte: the length, and the range of the second byte, which is narrower to
 * exclude overlong forms, surrogates and code points above U+10FFFF. Returns 0 if it is not a first
 * byte.
 */
static size_t lead_length(uint8_t lead, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
	*ret_high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

int text_utf8_length(const uint8_t *bytes, size_t size_bytes)
{
	uint8_t low, high;
	size_t length = lead_length(bytes[0], &low, &high);

	for (size_t i = 1; i < length; i++) {
		if (i == size_bytes)
			return -1;
		if (bytes[i] < low || bytes[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return (int)length;
}

/* length: from text_utf8_length(). */
static bool wants_escape(const uint8_t *bytes, int length)
{
	/* U+0080..9F are c2 80 .. c2 9f. */
	return length <= 0 || is_control(bytes[0]) ||
	       (length == 2 && bytes[0] == 0xc2 && bytes[1] <= 0x9f);
}

uint32_t text_code_point(const uint8_t *bytes, int length)
{
	static const uint8_t lead_masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code_point = bytes[0] & lead_masks[length];

	for (int i = 1; i < length; i++)
		code_point = code_point << 6 | (bytes[i] & 0x3f);
	return code_point;
}

/* Unicode 15: of categories Cf, Zl and Zp the directional marks (UAX 9), general punctuation, the
 * byte order mark, annotation marks, and tags. */
static bool is_invisible(uint32_t code_point)
{
	return code_point == 0x61c || code_point == 0x180e ||
	       (code_point >= 0x200b && code_point <= 0x200f) ||
	       (code_point >= 0x2028 && code_point <= 0x202e) ||
	       (code_point >= 0x2060 && code_point <= 0x206f) || code_point == 0xfeff ||
	       (code_point >= 0xfff9 && code_point <= 0xfffb) ||
	       (code_point >= 0xe0000 && code_point <= 0xe007f);
}

bool text_is_clean(const char *text)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t size_bytes = strlen(text);

	for (size_t at = 0; at < size_bytes;) {
		int length = text_utf8_length(bytes + at, size_bytes - at);

		if (wants_escape(bytes + at, length))
			return false;
		at += (size_t)length;
	}
	return true;
}

size_t text_escape(const void *bytes, size_t size_bytes, unsigned int options, char *ret_text,
		   size_t text_bytes)
{
	const uint8_t *input = bytes;
	struct text_writer writer;

	text_writer_init(&writer, ret_text, text_bytes);
	for (size_t at = 0; at < size_bytes && !writer.is_full;) {
		bool is_raw = (options & TEXT_ASCII) && input[at] >= 0x80;
		int length = is_raw ? 0 : text_utf8_length(input + at, size_bytes - at);

		if (length < 0 && (options & TEXT_CUT))
			break;
		if (wants_escape(input + at, length) ||
		    ((options & TEXT_SHOWN) && is_invisible(text_code_point(input + at, length)))) {
			length = length <= 0 ? 1 : length;
			text_writer_put_escaped(&writer, input + at, (size_t)length);
		} else {
			text_writer_put(&writer, input + at, (size_t)length);
		}
		at += (size_t)length;
	}
	return writer.length_bytes;
}

void text_hex(const void *bytes, size_t size_bytes, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *next = bytes;

	for (size_t i = 0; i < size_bytes; i++) {
		*ret_text++ = digits[next[i] >> 4];
		*ret_text++ = digits[next[i] & 0xf];
	}
	*ret_text = '\0';
}
