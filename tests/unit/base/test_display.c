/* SPDX-License-Identifier: GPL-2.0-only */
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "base/display.h"

static int setup(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

static void expect_escaped(const char *text, const char *expected)
{
	char escaped[128];

	assert_int_equal(display_escape(text, strlen(text), escaped, sizeof(escaped)),
			 strlen(expected));
	assert_string_equal(escaped, expected);
}

TEST(display_escapes_cursor_control_sequences)
{
	expect_escaped("plain \xc3\xa9", "plain \xc3\xa9");
	expect_escaped("\x1b[2J", "\\x1b[2J");
	expect_escaped("a\xff\r\n", "a\\xff\\x0d\\x0a");
	expect_escaped("\xe2\x80\xae"
		       "evil",
		       "\\xe2\\x80\\xae"
		       "evil");
	expect_escaped("\xef\xbb\xbf", "\\xef\\xbb\\xbf");
	expect_escaped("cut \xe2\x82", "cut \\xe2\\x82");
}

static void expect_shown(const char *text, bool is_shown)
{
	char escaped[128];

	(void)display_escape(text, strlen(text), escaped, sizeof(escaped));
	if ((strcmp(escaped, text) == 0) != is_shown)
		fail_msg("%s is shown as %s", text, escaped);
}

/* The first and the last of each range of them, and what is beside it. */
TEST(display_escapes_invisible_and_bidi_characters)
{
	static const char *const hidden[] = {
		"\u061c", "\u180e", "\u200b", "\u200f", "\u2028",     "\u202e",	    "\u2060",
		"\u206f", "\ufeff", "\ufff9", "\ufffb", "\U000e0000", "\U000e007f",
	};
	static const char *const shown[] = {
		"\u061b", "\u061d", "\u180d", "\u180f",	    "\u200a",	  "\u2010",
		"\u2027", "\u202f", "\u205f", "\u2070",	    "\ufefe",	  "\uff00",
		"\ufff8", "\ufffc", "\u00a0", "\U0001f600", "\U000dffff", "\U000e0080",
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		expect_shown(hidden[i], false);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		expect_shown(shown[i], true);
}

TEST(display_escape_truncates_at_character_boundary)
{
	char escaped[8];

	assert_int_equal(display_escape("12345\xc3\xa9", 7, escaped, sizeof(escaped)), 7);
	assert_string_equal(escaped, "12345\xc3\xa9");
	assert_int_equal(display_escape("123456\xc3\xa9", 8, escaped, sizeof(escaped)), 6);
	assert_string_equal(escaped, "123456");
	assert_int_equal(display_escape("1234\n6", 6, escaped, sizeof(escaped)), 4);
	assert_string_equal(escaped, "1234");
	assert_int_equal(display_escape("12\u200b6", 6, escaped, sizeof(escaped)), 2);
	assert_string_equal(escaped, "12");
}

TEST(display_width_counts_columns_not_bytes)
{
	assert_int_equal(display_columns("abc"), 3);
	assert_int_equal(display_columns("\xc3\xa9"), 1);
	assert_int_equal(display_columns("\xe6\x97\xa5\xe6\x9c\xac"), 4);
	assert_int_equal(display_columns("e\xcc\x81"), 1);
	assert_int_equal(display_columns("\U0001f600"), 2);
	/* Assigned to nothing. */
	assert_int_equal(display_columns("\xcd\xb8"), 1);
	assert_int_equal(display_columns(""), 0);
}

static void expect_fitted(const char *text, size_t columns, size_t text_bytes, const char *expected)
{
	char fitted[128];

	display_fit(text, columns, fitted, text_bytes);
	assert_string_equal(fitted, expected);
	assert_true(display_columns(fitted) <= columns);
	assert_true(strlen(fitted) < text_bytes);
}

TEST(display_fit_elides_middle_of_long_text)
{
	expect_fitted("0123456789", 10, 128, "0123456789");
	expect_fitted("0123456789", 9, 128, "0123…6789");
	expect_fitted("0123456789", 8, 128, "0123…789");
	expect_fitted("0123456789", 1, 128, "…");
	expect_fitted("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 5, 128, "\xe6\x97\xa5…\xe8\xaa\x9e");
	expect_fitted("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 4, 128, "\xe6\x97\xa5…");
	expect_fitted("0123456789", 10, 8, "01…89");
	expect_fitted("0123456789", 10, 10, "012…789");
	expect_fitted("0123456789", 10, 11, "0123456789");
	expect_fitted("0123456789", 11, 128, "0123456789");
	expect_fitted("0123456789", 2, 128, "0…");
	expect_fitted("0123456789", 3, 128, "0…9");
	expect_fitted("aé日é日b", 7, 128, "aé…日b");
	expect_fitted("aé日é日b", 5, 128, "aé…b");
	expect_fitted("日0123", 5, 128, "日…23");
	/* It has been escaped by then, but for what others forgot. */
	expect_fitted("\x1b[41m\n", 40, 128, "\\x1b[41m\\x0a");
	expect_fitted("\\x1b", 4, 128, "\\x1b");
}

TEST(display_duration_shows_four_digits_and_scaled_unit)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0 ns" },
		{ 999, "999 ns" },
		{ 1000, "1.000 us" },
		{ 1234, "1.234 us" },
		{ 9999, "9.999 us" },
		{ 10000, "10.00 us" },
		{ 12344, "12.34 us" },
		{ 12345, "12.35 us" },
		{ 99994, "99.99 us" },
		{ 99995, "100.0 us" },
		{ 100000, "100.0 us" },
		{ 999949, "999.9 us" },
		{ 999950, "1.000 ms" },
		{ 9999499, "9.999 ms" },
		{ 9999500, "10.00 ms" },
		{ 123449999, "123.4 ms" },
		{ 999949999, "999.9 ms" },
		{ 999950000, "1.000 s" },
		{ 1000000000, "1.000 s" },
		{ 9000001000, "9.000 s" },
		{ 10020000000, "10.02 s" },
		{ 100300000000, "100.3 s" },
		{ 1000000000000, "1000 s" },
		{ 86400000000000, "86400 s" },
		{ INT64_MAX, "9223000000 s" },
	};
	char text[DISPLAY_NUMBER_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		display_duration(cases[i].ns, text);
		assert_string_equal(text, cases[i].text);
	}
}

TEST(display_number_groups_digits_by_three)
{
	char text[DISPLAY_NUMBER_BYTES];

	display_number(0, text);
	assert_string_equal(text, "0");
	display_number(123, text);
	assert_string_equal(text, "123");
	display_number(-1, text);
	assert_string_equal(text, "-1");
	display_number(1234, text);
	assert_string_equal(text, "1,234");
	display_number(-1234567, text);
	assert_string_equal(text, "-1,234,567");
	display_number(INT64_MIN, text);
	assert_string_equal(text, "-9,223,372,036,854,775,808");
}

static void expect_bytes(int64_t bytes, const char *expected)
{
	char text[DISPLAY_NUMBER_BYTES];

	display_bytes(bytes, text);
	assert_string_equal(text, expected);
}

TEST(display_bytes_chooses_largest_unit)
{
	expect_bytes(0, "0 B");
	expect_bytes(1023, "1023 B");
	expect_bytes(1024, "1.0 KiB");
	expect_bytes(1536, "1.5 KiB");
	expect_bytes(12345678, "11.8 MiB");
	expect_bytes(INT64_C(5) << 30, "5.0 GiB");
	expect_bytes(INT64_MAX, "8.0 EiB");
}

TEST(display_bytes_rounds_before_it_chooses_unit)
{
	expect_bytes(1024 * 1024 - 52, "1023.9 KiB");
	expect_bytes(1024 * 1024 - 51, "1.0 MiB");
	expect_bytes((INT64_C(1) << 60) - 1, "1.0 EiB");
}

static void expect_sentence(size_t width, const char *sentence, const char *expected)
{
	size_t size_bytes = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size_bytes);

	assert_non_null(out);
	display_sentence(out, width, 4, "%s", sentence);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, expected);
	free(text);
}

TEST(display_sentence_wraps_at_screen_width)
{
	static char word[4096], first[2047 + 2];

	expect_sentence(16, "aaa bbb ccc ddd", "aaa bbb ccc ddd\n");
	/* The last column is left free: some screens go on in the next line there. */
	expect_sentence(15, "aaa bbb ccc ddd", "aaa bbb ccc\n    ddd\n");
	expect_sentence(12, "aaa bbb ccc ddd", "aaa bbb ccc\n    ddd\n");
	expect_sentence(11, "aaa bbb ccc ddd", "aaa bbb\n    ccc\n    ddd\n");
	expect_sentence(12, "aaa bbb ccc ddd eee", "aaa bbb ccc\n    ddd eee\n");
	expect_sentence(11, "  a  bbb cc   d", "  a  bbb\n    cc   d\n");
	expect_sentence(3, "much longer", "much\n    longer\n");
	expect_sentence(10, "", "\n");
	expect_sentence(40, "a\nb\u202ec", "a\\x0ab\\xe2\\x80\\xaec\n");
	memset(word, 'x', sizeof(word) - 1);
	memcpy(first, word, sizeof(first) - 2);
	first[sizeof(first) - 2] = '\n';
	expect_sentence(10, word, first);
}

TEST_GROUP(setup, NULL)
