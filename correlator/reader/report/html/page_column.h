/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A member of an object of JSON that is a column of numbers: 7 bits a byte, the lowest first, in
 * base64, which page.js reads. Single thread.
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

/* Not the object's first member. */
void page_column_open(struct page_column *column, const char *name, FILE *out);
/* Nothing of ours is negative, but for what damaged times make so: that is 0. */
void page_column_put(struct page_column *column, int64_t number);
void page_column_close(struct page_column *column);
