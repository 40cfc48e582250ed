/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that a test reads as a whole. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns the file's bytes, the caller's to free; NULL: it cannot be read. */
static inline uint8_t *whole_file_read(const char *path, size_t *ret_size_bytes)
{
	FILE *file = fopen(path, "r");
	uint8_t *bytes = NULL;
	long end = -1;

	if (file && fseek(file, 0, SEEK_END) == 0)
		end = ftell(file);
	if (end >= 0)
		bytes = malloc((size_t)end);
	if (bytes) {
		rewind(file);
		if (fread(bytes, 1, (size_t)end, file) != (size_t)end) {
			free(bytes);
			bytes = NULL;
		}
	}
	if (file)
		(void)fclose(file);
	*ret_size_bytes = (size_t)end;
	return bytes;
}
