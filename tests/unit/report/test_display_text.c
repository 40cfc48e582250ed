#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "report/display_text.h"

static int setup(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

static void expect_escaped(const char *text, const char *expected)
{
	char escaped[128];

	assert_int_equal(display_text_escape(text, strlen(text), escaped, sizeof(escaped)),
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
	assert_int_equal(display_text_columns("abc"), 3);
	assert_int_equal(display_text_columns("\xc3\xa9"), 1);
	assert_int_equal(display_text_columns("\xe6\x97\xa5\xe6\x9c\xac"), 4);
	assert_int_equal(display_text_columns("e\xcc\x81"), 1);
}

static void expect_fitted(const char *text, size_t columns, size_t text_bytes, const char *expected)
{
	char fitted[128];

	display_text_fit(text, columns, fitted, text_bytes);
	assert_string_equal(fitted, expected);
	assert_true(display_text_columns(fitted) <= columns);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_could_move_the_cursor_is_escaped),
		cmocka_unit_test(width_counts_columns_not_bytes),
		cmocka_unit_test(long_text_is_cut_in_the_middle),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
