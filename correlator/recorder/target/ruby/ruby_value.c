/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "recorder/target/ruby/ruby_number.h"

enum {
	/* special_consts.h with flonum: the same from 2.7 on, but for nil and undef (3.2). */
	VALUE_FALSE = 0x00,
	VALUE_NIL = 0x04,
	VALUE_NIL_BEFORE_3_2 = 0x08,
	VALUE_TRUE = 0x14,
	VALUE_UNDEF = 0x24,
	VALUE_UNDEF_BEFORE_3_2 = 0x34,
	VALUE_SYMBOL_FLAG = 0x0c,
	BDIGIT_BYTES = 4,
	/* "…#" and 16 hex digits, rounded up. */
	CUT_MARK_BYTES = 24,
	TYPES_MAX = 0x20,
};

_Static_assert(VALUE_TEXT_BYTES >= TEXT_ESCAPE_BYTES * VALUE_BYTES_MAX + CUT_MARK_BYTES + 1,
	       "the longest text fits");
_Static_assert(VALUE_TEXT_BYTES >= (int)RUBY_INTEGER_TEXT_BYTES, "the longest Integer fits");
_Static_assert((int)RUBY_INTEGER_DIGITS_MAX *BDIGIT_BYTES == (int)VALUE_BYTES_MAX,
	       "all digits fit");

/* The resolver of symbols and its context. */
struct symbol_finder {
	ruby_value_symbol_fn find;
	void *context;
};

/*
 * encindex.h, unchanged from v2_7_0 to v4_0_1. Higher indices depend on the build and on what the
 * program loaded, so bytes above 0x7f in their text are escaped. UTF-16 and UTF-32 are decoded
 * here, not with iconv(3): its converters are files that a small container lacks.
 */
enum encoding_index {
	ENCODING_BINARY = 0,
	ENCODING_UTF_8 = 1,
	ENCODING_US_ASCII = 2,
	ENCODING_UTF_16BE = 3,
	ENCODING_UTF_16LE = 4,
	ENCODING_UTF_32BE = 5,
	ENCODING_UTF_32LE = 6,
	ENCODING_UTF_16 = 7, /* with a byte order mark */
	ENCODING_UTF_32 = 8,
	ENCODING_UTF8_MAC = 9,
};

struct wide_input {
	const uint8_t *bytes;
	size_t size_bytes;
	size_t unit_bytes; /* 2 or 4 */
	bool is_little;
};

static uint32_t unit_at(const struct wide_input *input, size_t at)
{
	uint32_t unit = 0;

	for (size_t i = 0; i < input->unit_bytes; i++) {
		size_t byte = input->is_little ? input->unit_bytes - 1 - i : i;

		unit = unit << 8 | input->bytes[at + byte];
	}
	return unit;
}

static bool is_surrogate(uint32_t unit, uint32_t first)
{
	return unit >= first && unit < first + 0x400;
}

/*
 * Decodes the character at `at`: returns its length in bytes, 0 if it is invalid, -1 if the input
 * ends inside it.
 */
static int wide_next(const struct wide_input *input, size_t at, uint32_t *ret_code_point)
{
	size_t left = input->size_bytes - at;
	uint32_t unit, low;

	if (left < input->unit_bytes)
		return -1;
	unit = unit_at(input, at);
	if (is_surrogate(unit, 0xd800) && input->unit_bytes == 2) {
		if (left < 4)
			return -1;
		low = unit_at(input, at + 2);
		if (!is_surrogate(low, 0xdc00))
			return 0;
		*ret_code_point = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
		return 4;
	}
	if (unit > 0x10ffff || (unit >= 0xd800 && unit <= 0xdfff))
		return 0;
	*ret_code_point = unit;
	return (int)input->unit_bytes;
}

static size_t wide_text(const struct wide_input *input, size_t at, bool is_cut, char *ret_text,
			size_t text_bytes)
{
	struct text_writer writer;
	uint32_t code_point;

	text_writer_init(&writer, ret_text, text_bytes);
	while (at < input->size_bytes && !writer.is_full) {
		int length = wide_next(input, at, &code_point);
		size_t left = input->size_bytes - at;
		size_t used = length > 0 ? (size_t)length : input->unit_bytes;

		if (length < 0 && is_cut)
			break;
		used = used < left ? used : left;
		if (length > 0)
			text_writer_put_code_point(&writer, code_point);
		else
			text_writer_put_escaped(&writer, input->bytes + at, used);
		at += used;
	}
	return writer.length_bytes;
}

/*
 * Takes the byte order from the mark and returns the mark's length in bytes. Without a mark:
 * big-endian, 0.
 */
static size_t skip_mark(struct wide_input *input)
{
	uint32_t code_point = 0;

	for (int is_little = 0; is_little <= 1; is_little++) {
		input->is_little = is_little;
		if (wide_next(input, 0, &code_point) > 0 && code_point == 0xfeff)
			return input->unit_bytes;
	}
	input->is_little = false;
	return 0;
}

/*
 * Writes a string's text according to its encoding index, as valid UTF-8, NUL-terminated and cut to
 * fit at a whole character or escape. is_cut: the string continues after size_bytes, so a last
 * character that the cut split is dropped. Returns the length without the NUL.
 */
static size_t encoded_text(uint8_t encoding, const void *bytes, size_t size_bytes, bool is_cut,
			   char *ret_text, size_t text_bytes)
{
	unsigned int options = is_cut ? TEXT_CUT : 0;
	struct wide_input input = { .bytes = bytes, .size_bytes = size_bytes };
	size_t mark_bytes = 0;

	switch (encoding) {
	case ENCODING_BINARY:
	case ENCODING_UTF_8:
	case ENCODING_US_ASCII:
	case ENCODING_UTF8_MAC:
		return text_escape(bytes, size_bytes, options, ret_text, text_bytes);
	case ENCODING_UTF_16:
	case ENCODING_UTF_16BE:
	case ENCODING_UTF_16LE:
		input.unit_bytes = 2;
		break;
	case ENCODING_UTF_32:
	case ENCODING_UTF_32BE:
	case ENCODING_UTF_32LE:
		input.unit_bytes = 4;
		break;
	default:
		return text_escape(bytes, size_bytes, options | TEXT_ASCII, ret_text, text_bytes);
	}
	input.is_little = encoding == ENCODING_UTF_16LE || encoding == ENCODING_UTF_32LE;
	if (encoding == ENCODING_UTF_16 || encoding == ENCODING_UTF_32)
		mark_bytes = skip_mark(&input);
	return wide_text(&input, mark_bytes, is_cut, ret_text, text_bytes);
}

static void put_cut_mark(uint64_t digest, size_t length, char ret_text[static VALUE_TEXT_BYTES])
{
	(void)snprintf(ret_text + length, VALUE_TEXT_BYTES - length, "…#%016" PRIx64, digest);
}

static int put_text(const struct value_snapshot *value, char ret_text[static VALUE_TEXT_BYTES])
{
	bool is_cut = value->flags & VALUE_TRUNCATED;
	size_t length;

	if (value->length_bytes > VALUE_BYTES_MAX ||
	    (is_cut ? value->length_bytes != VALUE_BYTES_MAX : value->raw != value->length_bytes))
		return -EINVAL;
	/* The text leaves room for the mark: see the assertions above. */
	length = encoded_text(value->encoding, value->bytes, value->length_bytes, is_cut, ret_text,
			      VALUE_TEXT_BYTES);
	if (is_cut)
		put_cut_mark(value->raw, length, ret_text);
	return is_cut;
}

static int put_symbol(const struct symbol_finder *finder, uint64_t id,
		      char ret_text[static VALUE_TEXT_BYTES])
{
	struct value_snapshot name;
	int r = -ENOENT;

	if (finder->find)
		r = finder->find(finder->context, id, &name);
	if (r == -EAGAIN)
		return r;
	if (r == 0)
		return put_text(&name, ret_text);
	(void)snprintf(ret_text, VALUE_TEXT_BYTES, ":0x%" PRIx64, id);
	return 0;
}

static int put_immediate(uint64_t raw, const struct symbol_finder *finder,
			 char ret_text[static VALUE_TEXT_BYTES])
{
	const char *text;

	if (raw & 1) {
		/* A fixnum is 2n + 1. */
		(void)snprintf(ret_text, VALUE_TEXT_BYTES, "%" PRId64, (int64_t)raw >> 1);
		return 0;
	}
	if ((raw & 3) == 2) {
		(void)ruby_number_float_text(ruby_number_flonum(raw), ret_text);
		return 0;
	}
	if ((raw & 0xff) == VALUE_SYMBOL_FLAG)
		return put_symbol(finder, raw >> 8, ret_text);
	switch (raw) {
	case VALUE_FALSE:
		text = "false";
		break;
	case VALUE_TRUE:
		text = "true";
		break;
	case VALUE_NIL:
	case VALUE_NIL_BEFORE_3_2:
		text = "";
		break;
	case VALUE_UNDEF:
	case VALUE_UNDEF_BEFORE_3_2:
		text = "#<T_UNDEF>";
		break;
	default:
		/* An aligned value is an address: no kernel program captures it as an immediate. */
		if ((raw & 7) == 0)
			return -EINVAL;
		text = "#<T_NONE>";
		break;
	}
	(void)snprintf(ret_text, VALUE_TEXT_BYTES, "%s", text);
	return 0;
}

static int put_bignum(const struct value_snapshot *value, char ret_text[static VALUE_TEXT_BYTES])
{
	static const char huge[] = "#<T_BIGNUM>";
	uint32_t digits[RUBY_INTEGER_DIGITS_MAX];
	size_t count = value->length_bytes / BDIGIT_BYTES;
	bool is_cut = value->flags & VALUE_TRUNCATED;

	if (value->length_bytes % BDIGIT_BYTES != 0 ||
	    (is_cut ? count != RUBY_INTEGER_DIGITS_MAX : value->raw != count))
		return -EINVAL;
	if (is_cut) {
		memcpy(ret_text, huge, sizeof(huge));
		put_cut_mark(value->raw, sizeof(huge) - 1, ret_text);
		return 1;
	}
	memcpy(digits, value->bytes, value->length_bytes);
	(void)ruby_number_integer_text(digits, count, value->flags & VALUE_NEGATIVE, ret_text);
	return 0;
}

static int put_object(const struct value_snapshot *value, char ret_text[static VALUE_TEXT_BYTES])
{
	/* enum ruby_value_type (value_type.h), the same from 2.7 on. */
	static const char *const names[TYPES_MAX] = {
		"NONE", "OBJECT", "CLASS",  "MODULE", "FLOAT",	"STRING", "REGEXP",  "ARRAY",
		"HASH", "STRUCT", "BIGNUM", "FILE",   "DATA",	"MATCH",  "COMPLEX", "RATIONAL",
		NULL,	"NIL",	  "TRUE",   "FALSE",  "SYMBOL", "FIXNUM", "UNDEF",   NULL,
		NULL,	NULL,	  "IMEMO",  "NODE",   "ICLASS", "ZOMBIE", "MOVED",   NULL,
	};

	if (value->type >= TYPES_MAX)
		return -EINVAL;
	(void)snprintf(ret_text, VALUE_TEXT_BYTES, "#<T_%s>",
		       names[value->type] ? names[value->type] : "NONE");
	return 0;
}

int ruby_value_text(const struct value_snapshot *value, ruby_value_symbol_fn find_symbol,
		    void *context, char ret_text[static VALUE_TEXT_BYTES])
{
	const struct symbol_finder finder = { .find = find_symbol, .context = context };
	char text[VALUE_TEXT_BYTES] = "";
	double number;
	int r = -EINVAL;

	if (value->length_bytes > VALUE_BYTES_MAX ||
	    value->flags & ~(VALUE_TRUNCATED | VALUE_NEGATIVE))
		return -EINVAL;
	switch ((enum value_kind)value->kind) {
	case VALUE_KIND_ABSENT:
		return -ENODATA;
	case VALUE_KIND_IMMEDIATE:
		r = put_immediate(value->raw, &finder, text);
		break;
	case VALUE_KIND_STRING:
	case VALUE_KIND_SYMBOL:
		r = put_text(value, text);
		break;
	case VALUE_KIND_FLOAT:
		memcpy(&number, &value->raw, sizeof(number));
		(void)ruby_number_float_text(number, text);
		r = 0;
		break;
	case VALUE_KIND_BIGNUM:
		r = put_bignum(value, text);
		break;
	case VALUE_KIND_OBJECT:
		r = put_object(value, text);
		break;
	case VALUE_KIND_UNREADABLE:
		(void)snprintf(text, sizeof(text), "#<unreadable>");
		r = 0;
		break;
	case _VALUE_KIND_MAX:
		break;
	}
	if (r < 0)
		return r;
	memcpy(ret_text, text, sizeof(text));
	return r;
}
