/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "base/text.h"

#define DIGEST UINT64_C(0xfedc00001234abcd)
#define MARK   "\u2026#fedc00001234abcd"

static int find_symbol(void *context, uint64_t id, struct value_snapshot *ret_name)
{
	struct value_snapshot name = { .kind = VALUE_KIND_SYMBOL, .encoding = 2 };
	int *error = context;

	if (*error != 0)
		return *error;
	name.length_bytes = (uint16_t)snprintf((char *)name.bytes, 16, "name_%d", (int)id);
	name.raw = name.length_bytes;
	*ret_name = name;
	return 0;
}

static void assert_text(const struct value_snapshot *value, const char *expected)
{
	char text[VALUE_TEXT_BYTES];
	int error = 0;

	assert_int_equal(ruby_value_text(value, find_symbol, &error, text),
			 (value->flags & VALUE_TRUNCATED) != 0);
	assert_string_equal(text, expected);
}

static void assert_immediate(uint64_t raw, const char *expected)
{
	const struct value_snapshot value = { .kind = VALUE_KIND_IMMEDIATE, .raw = raw };

	assert_text(&value, expected);
}

static void assert_refused(const struct value_snapshot *value, int error)
{
	char text[VALUE_TEXT_BYTES] = "as it was";

	assert_int_equal(ruby_value_text(value, NULL, NULL, text), error);
	assert_string_equal(text, "as it was");
}

static struct value_snapshot string_of(uint8_t encoding, const char *bytes, size_t size_bytes)
{
	struct value_snapshot value = {
		.kind = VALUE_KIND_STRING, .type = 5, .encoding = encoding, .raw = size_bytes
	};

	value.length_bytes = size_bytes < VALUE_BYTES_MAX ? (uint16_t)size_bytes : VALUE_BYTES_MAX;
	if (size_bytes > VALUE_BYTES_MAX) {
		value.flags = VALUE_TRUNCATED;
		value.raw = DIGEST;
	}
	memcpy(value.bytes, bytes, value.length_bytes);
	return value;
}

static void assert_string(uint8_t encoding, const char *bytes, size_t size_bytes,
			  const char *expected)
{
	const struct value_snapshot value = string_of(encoding, bytes, size_bytes);

	assert_text(&value, expected);
}

TEST(ruby_value_formats_immediates_like_ruby)
{
	assert_immediate(0x00, "false");
	assert_immediate(0x14, "true");
	assert_immediate(0x04, "");
	assert_immediate(0x08, "");
	assert_immediate(85, "42");
	assert_immediate(1, "0");
	assert_immediate(UINT64_MAX, "-1");
	assert_immediate(UINT64_C(0x7fffffffffffffff), "4611686018427387903");
	assert_immediate(UINT64_C(0x8000000000000001), "-4611686018427387904");
	assert_immediate(0xd581 << 8 | 0x0c, "name_54657");
	assert_immediate(0x24, "#<T_UNDEF>");
	assert_immediate(0x1c, "#<T_NONE>");
}

TEST(ruby_value_decodes_flonums)
{
	/* The VALUEs of these in Ruby 3.1. */
	assert_immediate(UINT64_C(0x8000000000000002), "0.0");
	assert_immediate(UINT64_C(0xffc0000000000002), "1.5");
	assert_immediate(UINT64_C(0x0010000000000006), "-2.25");
	assert_immediate(UINT64_C(0xfdccccccccccccd2), "0.1");
	assert_immediate(UINT64_C(0x0040000000000002), "3.0");
	assert_immediate(UINT64_C(0x81394470938fa89a), "1.0e-76");
}

TEST(ruby_value_decodes_heap_floats)
{
	struct value_snapshot value = { .kind = VALUE_KIND_FLOAT, .type = 4 };
	const double number = -1e300;

	memcpy(&value.raw, &number, sizeof(number));
	assert_text(&value, "-1.0e+300");
}

TEST(ruby_value_shows_unnamed_symbol_by_its_id)
{
	const struct value_snapshot value = { .kind = VALUE_KIND_IMMEDIATE, .raw = 0xd5810c };
	char text[VALUE_TEXT_BYTES] = "as it was";
	int error = -ENOENT;

	assert_int_equal(ruby_value_text(&value, find_symbol, &error, text), 0);
	assert_string_equal(text, ":0xd581");
	assert_int_equal(ruby_value_text(&value, NULL, NULL, text), 0);
	assert_string_equal(text, ":0xd581");
}

TEST(ruby_value_returns_eagain_for_temporarily_unreadable_name)
{
	const struct value_snapshot value = { .kind = VALUE_KIND_IMMEDIATE, .raw = 0xd5810c };
	char text[VALUE_TEXT_BYTES] = "as it was";
	int error = -EAGAIN;

	assert_int_equal(ruby_value_text(&value, find_symbol, &error, text), -EAGAIN);
	assert_string_equal(text, "as it was");
}

TEST(ruby_value_keeps_text_of_strings)
{
	assert_string(1, "req-\u00e9", 6, "req-\u00e9");
	assert_string(0, "\x00\xff", 2, "\\x00\\xff");
	assert_string(2, "", 0, "");
	assert_string(22, "caf\xe9", 4, "caf\\xe9");
}

TEST(ruby_value_converts_wide_strings)
{
	assert_string(4, "a\0\xac\x20\x3d\xd8\x00\xde", 8, "a\u20ac\U0001f600");
	assert_string(3, "\0a\x20\xac\xd8\x3d\xde\x00", 8, "a\u20ac\U0001f600");
	assert_string(6, "a\0\0\0\x00\xf6\x01\0", 8, "a\U0001f600");
	assert_string(5, "\0\0\0a\0\x01\xf6\x00", 8, "a\U0001f600");
	/* With a byte order mark in either order, and without one. */
	assert_string(7,
		      "\xff\xfe"
		      "a\0",
		      4, "a");
	assert_string(7, "\xfe\xff\0a", 4, "a");
	assert_string(7, "\0a", 2, "a");
	assert_string(8, "\xff\xfe\0\0a\0\0\0", 8, "a");
}

TEST(ruby_value_escapes_broken_wide_strings)
{
	/* A lone high and a lone low surrogate, half a unit at the end, beyond U+10FFFF, a NUL. */
	assert_string(3, "\xd8\x3d\0a", 4, "\\xd8\\x3da");
	assert_string(3, "\xde\x00\0a\x20", 5, "\\xde\\x00a\\x20");
	assert_string(3, "\xd8\x3d", 2, "\\xd8\\x3d");
	assert_string(5, "\0\x11\0\0", 4, "\\x00\\x11\\x00\\x00");
	assert_string(5, "\0\x10\xff\xff", 4, "\xf4\x8f\xbf\xbf");
	/* On either side of the surrogates. */
	assert_string(5, "\0\0\xd7\xff", 4, "\xed\x9f\xbf");
	assert_string(5, "\0\0\xd8\0", 4, "\\x00\\x00\\xd8\\x00");
	assert_string(5, "\0\0\xdf\xff", 4, "\\x00\\x00\\xdf\\xff");
	assert_string(5, "\0\0\xe0\0", 4, "\xee\x80\x80");
	assert_string(3, "\xdb\xff\xdf\xff", 4, "\xf4\x8f\xbf\xbf");
	assert_string(3, "\xd8\x00\xdc\x00", 4, "\xf0\x90\x80\x80");
	assert_string(3, "\xda\x95\xdd\x55", 4, "\U000b5555");
	assert_string(4, "\0\0", 2, "\\x00");
}

TEST(ruby_value_marks_cut_string_after_whole_character)
{
	char bytes[VALUE_BYTES_MAX + 64], expected[VALUE_TEXT_BYTES];

	/* The last captured byte is the first of three. */
	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes + VALUE_BYTES_MAX - 1, "\u20ac", 3);
	(void)snprintf(expected, sizeof(expected), "%.*s" MARK, VALUE_BYTES_MAX - 1, bytes);
	assert_string(1, bytes, sizeof(bytes), expected);
	/* What is broken before that is shown as it is. */
	for (size_t i = 0; i < sizeof(bytes); i += 2)
		memcpy(bytes + i, "\0x", 2);
	memcpy(bytes, "\xde\x00", 2);
	(void)snprintf(expected, sizeof(expected), "\\xde\\x00%.*s" MARK, VALUE_BYTES_MAX / 2 - 1,
		       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	assert_string(3, bytes, sizeof(bytes), expected);
	/* A split surrogate pair. */
	for (size_t i = 0; i < sizeof(bytes); i += 2)
		memcpy(bytes + i, "\0x", 2);
	memcpy(bytes + VALUE_BYTES_MAX - 2, "\xd8\x3d\xde\x00", 4);
	(void)snprintf(expected, sizeof(expected), "%.*s" MARK, VALUE_BYTES_MAX / 2 - 1,
		       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	assert_string(3, bytes, sizeof(bytes), expected);
}

TEST(ruby_value_longest_text_fits_with_cut_mark)
{
	char bytes[VALUE_BYTES_MAX + 1];
	struct value_snapshot value;
	char text[VALUE_TEXT_BYTES];

	memset(bytes, 0xff, sizeof(bytes));
	value = string_of(1, bytes, sizeof(bytes));
	assert_int_equal(ruby_value_text(&value, NULL, NULL, text), 1);
	assert_int_equal(strlen(text), 4 * VALUE_BYTES_MAX + strlen(MARK));
	assert_string_equal(text + 4 * VALUE_BYTES_MAX, MARK);
}

TEST(ruby_value_formats_bignums_in_decimal)
{
	struct value_snapshot value = {
		.kind = VALUE_KIND_BIGNUM, .type = 0xa, .length_bytes = 12, .raw = 3
	};
	const uint32_t digits[] = { 0, 0, 1 };

	memcpy(value.bytes, digits, sizeof(digits));
	assert_text(&value, "18446744073709551616");
	value.flags = VALUE_NEGATIVE;
	assert_text(&value, "-18446744073709551616");
	value.flags = VALUE_TRUNCATED;
	value.length_bytes = VALUE_BYTES_MAX;
	value.raw = DIGEST;
	assert_text(&value, "#<T_BIGNUM>" MARK);
}

TEST(ruby_value_names_other_objects_by_type)
{
	struct value_snapshot value = { .kind = VALUE_KIND_OBJECT, .type = 8, .raw = 0x7f00aa00 };

	assert_text(&value, "#<T_HASH>");
	value.type = 0x1e;
	assert_text(&value, "#<T_MOVED>");
	value.type = 0x1f;
	assert_text(&value, "#<T_NONE>");
	value.kind = VALUE_KIND_UNREADABLE;
	assert_text(&value, "#<unreadable>");
}

TEST(ruby_value_rejects_damaged_snapshots)
{
	struct value_snapshot value = string_of(1, "abcd", 4);

	value.raw = 3;
	assert_refused(&value, -EINVAL);
	value.raw = 5;
	assert_refused(&value, -EINVAL);
	value.raw = 4;
	value.kind = VALUE_KIND_SYMBOL;
	value.length_bytes = 3;
	assert_refused(&value, -EINVAL);
	value.length_bytes = 4;
	value.kind = VALUE_KIND_STRING;
	value.flags = VALUE_TRUNCATED;
	assert_refused(&value, -EINVAL);
	value.flags = 1 << 7;
	assert_refused(&value, -EINVAL);
	value.flags = 0;
	value.length_bytes = VALUE_BYTES_MAX + 1;
	assert_refused(&value, -EINVAL);
	value = (struct value_snapshot){ .kind = _VALUE_KIND_MAX };
	assert_refused(&value, -EINVAL);
	value = (struct value_snapshot){ .kind = VALUE_KIND_OBJECT, .type = 0x20 };
	assert_refused(&value, -EINVAL);
	value = (struct value_snapshot){ .kind = VALUE_KIND_BIGNUM, .length_bytes = 3, .raw = 3 };
	assert_refused(&value, -EINVAL);
	value = (struct value_snapshot){ .kind = VALUE_KIND_BIGNUM, .length_bytes = 5, .raw = 1 };
	assert_refused(&value, -EINVAL);
	value = (struct value_snapshot){ .kind = VALUE_KIND_BIGNUM, .length_bytes = 4, .raw = 2 };
	assert_refused(&value, -EINVAL);
	value = (struct value_snapshot){ .kind = VALUE_KIND_BIGNUM,
					 .flags = VALUE_TRUNCATED,
					 .length_bytes = VALUE_BYTES_MAX - 4 };
	assert_refused(&value, -EINVAL);
	value = (struct value_snapshot){ .kind = VALUE_KIND_IMMEDIATE, .raw = 0x7f0000001000 };
	assert_refused(&value, -EINVAL);
	value = (struct value_snapshot){ .kind = VALUE_KIND_ABSENT };
	assert_refused(&value, -ENODATA);
}

/* xorshift64: the same values on every run. */
static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

TEST(ruby_value_random_snapshot_yields_clean_text_or_error)
{
	uint64_t random = 88172645463325252u;
	struct value_snapshot value;
	char text[VALUE_TEXT_BYTES], again[VALUE_TEXT_BYTES];

	for (int i = 0; i < 100000; i++) {
		for (size_t at = 0; at < sizeof(value); at += 8)
			memcpy((uint8_t *)&value + at, &(uint64_t){ next_random(&random) }, 8);
		value.kind &= 7;
		value.flags &= 3;
		value.length_bytes %= VALUE_BYTES_MAX + 1;
		value.encoding &= 15;
		if (value.kind == VALUE_KIND_STRING || value.kind == VALUE_KIND_SYMBOL) {
			if (value.flags & VALUE_TRUNCATED)
				value.length_bytes = VALUE_BYTES_MAX;
			else
				value.raw = value.length_bytes;
		}
		memset(text, '#', sizeof(text));
		if (ruby_value_text(&value, NULL, NULL, text) < 0)
			continue;
		assert_non_null(memchr(text, '\0', sizeof(text)));
		/* Clean text is what escaping leaves as it is. */
		(void)text_escape(text, strlen(text), 0, again, sizeof(again));
		assert_string_equal(again, text);
	}
}
