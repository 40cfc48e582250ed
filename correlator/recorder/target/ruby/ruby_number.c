/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Significant digits that always give the same double again (DBL_DECIMAL_DIG). */
	FLOAT_DIGITS_MAX = 17,
	/* Float#to_s of 3.1.2 pads with zeros to at most this many places before the point, and
	 * with at most 3 behind it; beyond, it writes an exponent. */
	FLOAT_POINT_MAX = 15,
	FLOAT_POINT_MIN = -3,
};

double ruby_number_flonum(uint64_t value)
{
	uint64_t bits;
	double number;

	/* The pattern that would be 1.72723e-77 stands for 0.0. */
	if (value == UINT64_C(0x8000000000000002))
		return 0.0;
	/* Two bits of the exponent were dropped: they follow from its top bit. */
	bits = (2 - (value >> 63)) | (value & ~UINT64_C(3));
	bits = bits >> 3 | bits << 61;
	memcpy(&number, &bits, sizeof(number));
	return number;
}

/*
 * The shortest digits that read back as number (finite, >= 0), without trailing zeros, and where
 * the decimal point is: 0.DIGITS * 10^point.
 */
static size_t shortest_digits(double number, char digits[static FLOAT_DIGITS_MAX + 1],
			      int *ret_point)
{
	char text[RUBY_FLOAT_TEXT_BYTES];
	size_t count = 0;
	int precision = 0;

	do {
		(void)snprintf(text, sizeof(text), "%.*e", precision++, number);
	} while (strtod(text, NULL) != number && precision < FLOAT_DIGITS_MAX);
	/* The locale's decimal point is among the digits. */
	for (const char *at = text; *at != 'e'; at++) {
		if (*at >= '0' && *at <= '9')
			digits[count++] = *at;
	}
	*ret_point = (int)strtol(strchr(text, 'e') + 1, NULL, 10) + 1;
	while (count > 1 && digits[count - 1] == '0')
		count--;
	digits[count] = '\0';
	return count;
}

size_t ruby_number_float_text(double number, char ret_text[static RUBY_FLOAT_TEXT_BYTES])
{
	const char *sign = signbit(number) ? "-" : "";
	char digits[FLOAT_DIGITS_MAX + 1];
	int point, count;
	int length;

	if (isnan(number))
		sign = "";
	if (!isfinite(number))
		return (size_t)snprintf(ret_text, RUBY_FLOAT_TEXT_BYTES, "%s%s", sign,
					isnan(number) ? "NaN" : "Infinity");
	count = (int)shortest_digits(fabs(number), digits, &point);
	if ((point >= count && point > FLOAT_POINT_MAX) || point < FLOAT_POINT_MIN)
		length = snprintf(ret_text, RUBY_FLOAT_TEXT_BYTES, "%s%c.%se%+03d", sign, digits[0],
				  count > 1 ? digits + 1 : "0", point - 1);
	else if (point <= 0)
		length = snprintf(ret_text, RUBY_FLOAT_TEXT_BYTES, "%s0.%.*s%s", sign, -point,
				  "000", digits);
	else if (point >= count)
		length = snprintf(ret_text, RUBY_FLOAT_TEXT_BYTES, "%s%s%.*s.0", sign, digits,
				  point - count, "000000000000000");
	else
		length = snprintf(ret_text, RUBY_FLOAT_TEXT_BYTES, "%s%.*s.%s", sign, point, digits,
				  digits + point);
	return (size_t)length;
}

size_t ruby_number_integer_text(const uint32_t *digits, size_t count, bool is_negative,
				char ret_text[static RUBY_INTEGER_TEXT_BYTES])
{
	uint32_t rest[RUBY_INTEGER_DIGITS_MAX];
	char reversed[RUBY_INTEGER_TEXT_BYTES];
	size_t length = 0;

	assert(count <= RUBY_INTEGER_DIGITS_MAX);
	memcpy(rest, digits, count * sizeof(*rest));
	do {
		uint64_t remainder = 0;

		for (size_t i = count; i-- > 0;) {
			remainder = remainder << 32 | rest[i];
			rest[i] = (uint32_t)(remainder / 10);
			remainder %= 10;
		}
		while (count > 0 && rest[count - 1] == 0)
			count--;
		reversed[length++] = (char)('0' + remainder);
	} while (count > 0);
	if (is_negative)
		reversed[length++] = '-';
	for (size_t i = 0; i < length; i++)
		ret_text[i] = reversed[length - 1 - i];
	ret_text[length] = '\0';
	return length;
}
