/*
 * Numbers as people read them. Pure.
 */
#pragma once

#include <stdint.h>

enum {
	HUMAN_BYTES = 32
};

/* Nanoseconds (>= 0) with four significant digits and a unit: "999 ns", "1.234 ms", "12345 s". */
void human_duration(int64_t ns, char ret_text[HUMAN_BYTES]);
/* Bytes (>= 0) in MiB with one decimal: "12.3 MiB". */
void human_bytes(int64_t bytes, char ret_text[HUMAN_BYTES]);
/* Digits in groups of three: "-1,234,567". */
void human_number(int64_t number, char ret_text[HUMAN_BYTES]);
