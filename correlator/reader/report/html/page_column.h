/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A column of numbers as a member of a JSON object, for page.js: 7 bits per byte, lowest first, in
 * base64. Single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Three bytes make four characters. */
struct page_column {
	FILE *out; /* borrowed */
	uint8_t bytes[3];
	size_t count;
};

/* The column is not the object's first member. */
void page_column_open(struct page_column *column, const char *name, FILE *out);
/* Writes a negative number as 0: from a damaged time, or a residual of the other sign. */
void page_column_put(struct page_column *column, int64_t number);
void page_column_close(struct page_column *column);
