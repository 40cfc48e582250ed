#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "report/human.h"

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
	char text[HUMAN_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		human_duration(cases[i].ns, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void numbers_are_grouped_by_three(void **state)
{
	char text[HUMAN_BYTES];

	(void)state;
	human_number(0, text);
	assert_string_equal(text, "0");
	human_number(123, text);
	assert_string_equal(text, "123");
	human_number(-1234567, text);
	assert_string_equal(text, "-1,234,567");
	human_number(INT64_MIN, text);
	assert_string_equal(text, "-9,223,372,036,854,775,808");
}

static void bytes_are_in_mebibytes(void **state)
{
	char text[HUMAN_BYTES];

	(void)state;
	human_bytes(0, text);
	assert_string_equal(text, "0.0 MiB");
	human_bytes(12345678, text);
	assert_string_equal(text, "11.8 MiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_have_four_digits_and_the_fitting_unit),
		cmocka_unit_test(numbers_are_grouped_by_three),
		cmocka_unit_test(bytes_are_in_mebibytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
