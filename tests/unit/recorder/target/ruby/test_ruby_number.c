/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers as text: known ones, and 20000 random ones against what the Ruby here prints. */
#include "recorder/target/ruby/ruby_number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "recorder/target/live_ruby.h"

enum {
	RANDOM_FLOATS = 20000,
	RANDOM_INTEGERS = 500
};

static void assert_float(double number, const char *expected)
{
	char text[RUBY_FLOAT_TEXT_BYTES];

	assert_int_equal(ruby_number_float_text(number, text), strlen(expected));
	assert_string_equal(text, expected);
}

TEST(ruby_number_formats_floats_like_ruby)
{
	assert_float(0.0, "0.0");
	assert_float(-0.0, "-0.0");
	assert_float(1.0, "1.0");
	assert_float(-12.5, "-12.5");
	assert_float(0.1 + 0.2, "0.30000000000000004");
	assert_float(0.0001, "0.0001");
	assert_float(0.00001, "1.0e-05");
	assert_float(1e14, "100000000000000.0");
	assert_float(999999999999999.9, "999999999999999.9");
	assert_float(1e15, "1.0e+15");
	assert_float(1234567890123456.0, "1.234567890123456e+15");
	assert_float(1793249019195612.2, "1793249019195612.2");
	assert_float(1.5e20, "1.5e+20");
	assert_float(5e-324, "5.0e-324");
	assert_float(-2.2250738585072014e-308, "-2.2250738585072014e-308");
	assert_float(1.7976931348623157e308, "1.7976931348623157e+308");
	assert_float(NAN, "NaN");
	assert_float(-NAN, "NaN");
	assert_float(INFINITY, "Infinity");
	assert_float(-INFINITY, "-Infinity");
}

TEST(ruby_number_ignores_decimal_comma_of_locale)
{
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
		skip();
	assert_float(1.5, "1.5");
	(void)setlocale(LC_NUMERIC, "C");
}

TEST(ruby_number_formats_integers_in_decimal)
{
	uint32_t digits[RUBY_INTEGER_DIGITS_MAX] = { 1000000000, 0 };
	char text[RUBY_INTEGER_TEXT_BYTES];

	assert_int_equal(ruby_number_integer_text(digits, 2, true, text), 11);
	assert_string_equal(text, "-1000000000");
	assert_int_equal(ruby_number_integer_text(digits, 0, false, text), 1);
	assert_string_equal(text, "0");
	memset(digits, 0xff, sizeof(digits));
	assert_int_equal(ruby_number_integer_text(digits, RUBY_INTEGER_DIGITS_MAX, true, text),
			 RUBY_INTEGER_TEXT_BYTES - 1);
	/* 2^1024 - 1 */
	assert_int_equal(strncmp(text, "-17976931348623159077293051907890247336179769789423", 51),
			 0);
	assert_string_equal(text + RUBY_INTEGER_TEXT_BYTES - 1 - 10, "4224137215");
}

/* xorshift64: the same numbers on every run. */
static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

TEST(ruby_number_matches_ruby_for_random_numbers)
{
	uint64_t random = 88172645463325252u;
	char line[700], answer[400], text[RUBY_INTEGER_TEXT_BYTES];
	struct live_ruby ruby;

	if (!live_ruby_start(&ruby))
		skip();
	for (int i = 0; i < RANDOM_FLOATS; i++) {
		uint64_t bits = next_random(&random);
		double number;

		/* Every other one of a size that people use. */
		if (i % 2 == 0)
			bits = (bits & ~(UINT64_C(0x7ff) << 52)) | (960 + bits % 128) << 52;
		memcpy(&number, &bits, sizeof(number));
		(void)ruby_number_float_text(number, text);
		(void)snprintf(line, sizeof(line), "[%llu].pack('Q').unpack1('D').to_s",
			       (unsigned long long)bits);
		assert_true(live_ruby_ask(&ruby, line, answer, sizeof(answer)));
		assert_string_equal(text, answer);
	}
	for (int i = 0; i < RANDOM_INTEGERS; i++) {
		uint32_t digits[RUBY_INTEGER_DIGITS_MAX];
		size_t count = 1 + next_random(&random) % RUBY_INTEGER_DIGITS_MAX, used;

		used = (size_t)snprintf(line, sizeof(line), "-0x");
		for (size_t at = count; at-- > 0;) {
			digits[at] = (uint32_t)next_random(&random);
			used += (size_t)snprintf(line + used, sizeof(line) - used, "%08x",
						 digits[at]);
		}
		(void)ruby_number_integer_text(digits, count, true, text);
		assert_true(live_ruby_ask(&ruby, line, answer, sizeof(answer)));
		assert_string_equal(text, answer);
	}
	live_ruby_stop(&ruby);
}
