/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/text.h"

#include <string.h>

#include "unit_test.h"

static void assert_escaped(const char *input, size_t size_bytes, unsigned int options,
			   const char *expected)
{
	char text[256];

	assert_int_equal(text_escape(input, size_bytes, options, text, sizeof(text)),
			 strlen(expected));
	assert_string_equal(text, expected);
}

#define assert_escaped_literal(input, options, expected) \
	assert_escaped(input, sizeof(input) - 1, options, expected)

TEST(text_is_clean_only_without_escapes)
{
	static const char *const wrong[] = { "a\nb",	     "\x1b[31m",  "\x7f",
					     "\t",	     "a\xc2\x9b", "\xc0\xaf",
					     "\xed\xa0\x80", "\xff",	  "a\xe2\x82" };

	assert_true(text_is_clean(""));
	assert_true(text_is_clean(" \\ ~\xc2\xa0\u00e9\u20ac\U0010ffff"));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(text_is_clean(wrong[i]));
}

TEST(text_escape_keeps_well_formed_utf8)
{
	assert_escaped_literal("", 0, "");
	assert_escaped_literal("a \\ b", 0, "a \\ b");
	assert_escaped_literal("\u00e9\u20ac\U0001f600\U0010ffff", 0,
			       "\u00e9\u20ac\U0001f600\U0010ffff");
}

TEST(text_escape_escapes_c0_and_c1_control_characters)
{
	assert_escaped_literal("a\0b\n\x1b[31m\x7f", 0, "a\\x00b\\x0a\\x1b[31m\\x7f");
	assert_escaped_literal("\xc2\x9b\xc2\xa0", 0, "\\xc2\\x9b\xc2\xa0");
}

TEST(text_escape_escapes_malformed_bytes_one_by_one)
{
	/* A longer form than needed, a surrogate, beyond U+10FFFF, a lone continuation. */
	assert_escaped_literal("\xc0\xaf", 0, "\\xc0\\xaf");
	assert_escaped_literal("\xe0\x80\xaf", 0, "\\xe0\\x80\\xaf");
	assert_escaped_literal("\xed\xa0\x80", 0, "\\xed\\xa0\\x80");
	assert_escaped_literal("\xf4\x90\x80\x80", 0, "\\xf4\\x90\\x80\\x80");
	assert_escaped_literal("\x80z\xff", 0, "\\x80z\\xff");
	/* The character after a broken one is not swallowed. */
	assert_escaped_literal("\xe2\x82x", 0, "\\xe2\\x82x");
}

TEST(text_escape_drops_split_character_only_with_cut_option)
{
	assert_escaped_literal("a\xe2\x82", TEXT_CUT, "a");
	assert_escaped_literal("a\xf0\x9f\x98", TEXT_CUT, "a");
	assert_escaped_literal("a\xe2\x82", 0, "a\\xe2\\x82");
	assert_escaped_literal("a\xed\xa0", TEXT_CUT, "a\\xed\\xa0");
	assert_escaped_literal("\xe2z", TEXT_CUT, "\\xe2z");
}

TEST(text_escape_escapes_non_ascii_with_ascii_option)
{
	assert_escaped_literal("caf\xc3\xa9", TEXT_ASCII, "caf\\xc3\\xa9");
}

TEST(text_escape_truncates_at_character_or_escape_boundary)
{
	static const char input[] = "a\u20ac\nb";
	static const char *const expected[] = { "",
						"a",
						"a",
						"a",
						"a\u20ac",
						"a\u20ac",
						"a\u20ac",
						"a\u20ac",
						"a\u20ac\\x0a",
						"a\u20ac\\x0ab" };
	char text[16];

	for (size_t room = 1; room <= sizeof(expected) / sizeof(*expected); room++) {
		memset(text, '#', sizeof(text));
		assert_int_equal(text_escape(input, sizeof(input) - 1, 0, text, room),
				 strlen(expected[room - 1]));
		assert_string_equal(text, expected[room - 1]);
		assert_int_equal(text[room], '#');
	}
}

/* Of one that takes two escapes, both or none. */
TEST(text_escape_never_splits_multi_byte_escape)
{
	static const char input[] = "\xc2\x85";
	const size_t whole = 2 * TEXT_ESCAPE_BYTES;
	char text[16];

	for (size_t room = 1; room <= whole + 2; room++)
		assert_int_equal(text_escape(input, 2, 0, text, room), room > whole ? whole : 0);
}

/* All four-byte strings over the bytes where the tables change: compared with a decoder that
 * computes the code point instead. */
static int slow_length(const uint8_t *bytes)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	int length = bytes[0] < 0x80	     ? 1
		     : bytes[0] >> 5 == 6    ? 2
		     : bytes[0] >> 4 == 0xe  ? 3
		     : bytes[0] >> 3 == 0x1e ? 4
					     : 0;
	uint32_t code_point = bytes[0] & (0xff >> (length + 1));

	for (int i = 1; i < length; i++) {
		if (bytes[i] >> 6 != 2)
			return 0;
		code_point = code_point << 6 | (bytes[i] & 0x3f);
	}
	if (length > 1 && (code_point < least[length] || code_point > 0x10ffff ||
			   (code_point >= 0xd800 && code_point <= 0xdfff)))
		return 0;
	return length;
}

TEST(text_utf8_length_agrees_with_code_point_decoder)
{
	static const uint8_t edges[] = { 0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f,
					 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xff };
	uint8_t bytes[4];

	for (unsigned int lead = 0; lead < 256; lead++) {
		for (size_t i = 0; i < sizeof(edges) * sizeof(edges) * sizeof(edges); i++) {
			bytes[0] = (uint8_t)lead;
			bytes[1] = edges[i % sizeof(edges)];
			bytes[2] = edges[i / sizeof(edges) % sizeof(edges)];
			bytes[3] = edges[i / sizeof(edges) / sizeof(edges)];
			assert_int_equal(text_utf8_length(bytes, 4), slow_length(bytes));
		}
	}
}

TEST(text_writer_encodes_code_points_as_utf8)
{
	char text[64];
	struct text_writer writer;

	text_writer_init(&writer, text, sizeof(text));
	text_writer_put_code_point(&writer, 'a');
	text_writer_put_code_point(&writer, 0x0a);
	text_writer_put_code_point(&writer, 0x85);
	text_writer_put_code_point(&writer, 0xe9);
	text_writer_put_code_point(&writer, 0x20ac);
	text_writer_put_code_point(&writer, 0x1f600);
	text_writer_put_code_point(&writer, 0x10ffff);
	assert_string_equal(text, "a\\x0a\\xc2\\x85\u00e9\u20ac\U0001f600\U0010ffff");
	assert_int_equal(writer.length_bytes, strlen(text));
	assert_false(writer.is_full);
}

TEST(text_writer_ignores_input_once_full)
{
	char text[6];
	struct text_writer writer;

	text_writer_init(&writer, text, sizeof(text));
	text_writer_put(&writer, "abc", 3);
	text_writer_put_escaped(&writer, "x", 1);
	assert_true(writer.is_full);
	text_writer_put(&writer, "d", 1);
	assert_string_equal(text, "abc");
}

TEST(text_writer_skips_escape_that_does_not_fit)
{
	struct text_writer writer;
	char text[10];

	text_writer_init(&writer, text, sizeof(text));
	text_writer_put(&writer, "abcde", 5);
	text_writer_put_escaped(&writer, "\x01\x02", 2);
	assert_true(writer.is_full);
	assert_string_equal(text, "abcde");
	text_writer_init(&writer, text, sizeof(text));
	text_writer_put(&writer, "abcde", 5);
	text_writer_put_escaped(&writer, "\x01", 1);
	assert_false(writer.is_full);
	assert_string_equal(text, "abcde\\x01");
}

TEST(text_hex_writes_two_digits_per_byte)
{
	char text[7] = "??????";

	text_hex("\x01\xaf\xf0", 3, text);
	assert_string_equal(text, "01aff0");
	text_hex("", 0, text);
	assert_string_equal(text, "");
}
