/* SPDX-License-Identifier: GPL-2.0-only */
#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "report/display.h"

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

static void what_could_move_the_cursor_is_escaped(void **state)
{
	(void)state;
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

static void width_counts_columns_not_bytes(void **state)
{
	(void)state;
	assert_int_equal(display_columns("abc"), 3);
	assert_int_equal(display_columns("\xc3\xa9"), 1);
	assert_int_equal(display_columns("\xe6\x97\xa5\xe6\x9c\xac"), 4);
	assert_int_equal(display_columns("e\xcc\x81"), 1);
}

static void expect_fitted(const char *text, size_t columns, size_t text_bytes, const char *expected)
{
	char fitted[128];

	display_fit(text, columns, fitted, text_bytes);
	assert_string_equal(fitted, expected);
	assert_true(display_columns(fitted) <= columns);
	assert_true(strlen(fitted) < text_bytes);
}

static void long_text_is_cut_in_the_middle(void **state)
{
	(void)state;
	expect_fitted("0123456789", 10, 128, "0123456789");
	expect_fitted("0123456789", 9, 128, "0123…6789");
	expect_fitted("0123456789", 8, 128, "0123…789");
	expect_fitted("0123456789", 1, 128, "…");
	expect_fitted("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 5, 128, "\xe6\x97\xa5…\xe8\xaa\x9e");
	expect_fitted("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 4, 128, "\xe6\x97\xa5…");
	expect_fitted("0123456789", 10, 8, "01…89");
}

static void durations_have_four_digits_and_the_fitting_unit(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0 ns" },
		{ 999, "999 ns" },
		{ 1000, "1.000 us" },
		{ 1234, "1.234 us" },
		{ 12345, "12.35 us" },
		{ 999949, "999.9 us" },
		{ 999950, "1.000 ms" },
		{ 9999499, "9.999 ms" },
		{ 9999500, "10.00 ms" },
		{ 123449999, "123.4 ms" },
		{ 1000000000, "1.000 s" },
		{ 86400000000000, "86400 s" },
		{ INT64_MAX, "9223000000 s" },
	};
	char text[DISPLAY_NUMBER_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		display_duration(cases[i].ns, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void numbers_are_grouped_by_three(void **state)
{
	char text[DISPLAY_NUMBER_BYTES];

	(void)state;
	display_number(0, text);
	assert_string_equal(text, "0");
	display_number(123, text);
	assert_string_equal(text, "123");
	display_number(-1234567, text);
	assert_string_equal(text, "-1,234,567");
	display_number(INT64_MIN, text);
	assert_string_equal(text, "-9,223,372,036,854,775,808");
}

static void bytes_are_in_mebibytes(void **state)
{
	char text[DISPLAY_NUMBER_BYTES];

	(void)state;
	display_bytes(0, text);
	assert_string_equal(text, "0.0 MiB");
	display_bytes(12345678, text);
	assert_string_equal(text, "11.8 MiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_could_move_the_cursor_is_escaped),
		cmocka_unit_test(width_counts_columns_not_bytes),
		cmocka_unit_test(long_text_is_cut_in_the_middle),
		cmocka_unit_test(durations_have_four_digits_and_the_fitting_unit),
		cmocka_unit_test(numbers_are_grouped_by_three),
		cmocka_unit_test(bytes_are_in_mebibytes),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
