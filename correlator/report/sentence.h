/*
 * Sentences on a screen of a given width. Pure but for the stream.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

enum {
	SENTENCE_INDENT = 4
};

/* Prints a sentence (its first 2047 bytes), broken at spaces where the screen ends. Further lines
 * are indented by so many columns. */
__attribute__((format(printf, 4, 5))) void sentence_print(FILE *out, size_t width, size_t indent,
							  const char *format, ...);
