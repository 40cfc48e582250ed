/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of the target as Ruby prints them. Pure, any thread; independent of the locale. Facts:
 * flo_to_s in numeric.c and rb_float_flonum_value in internal/numeric.h, v3_1_2.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* "-2.2250738585072014e-308" and NUL, rounded up. */
	RUBY_FLOAT_TEXT_BYTES = 32,
	RUBY_INTEGER_DIGITS_MAX = 32,
	/* 32 BDIGITs are 1024 bits: 309 decimal digits, a sign and NUL. */
	RUBY_INTEGER_TEXT_BYTES = 311,
};

/* The double in a flonum VALUE, (value & 3) == 2: rb_float_flonum_value (internal/numeric.h). */
double ruby_number_flonum(uint64_t value);

/* As Float#to_s: the shortest digits that give the same double again. Returns the length. */
size_t ruby_number_float_text(double number, char ret_text[static RUBY_FLOAT_TEXT_BYTES]);

/* A bignum in decimal: digits are BDIGITs (32 bits, low first), count <= RUBY_INTEGER_DIGITS_MAX.
 */
size_t ruby_number_integer_text(const uint32_t *digits, size_t count, bool is_negative,
				char ret_text[static RUBY_INTEGER_TEXT_BYTES]);
