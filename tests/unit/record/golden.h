/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Golden files: NAME in GOLDEN_FOLDER, fixtures/golden. With GOLDEN_WRITE=1 in the
 * environment the tests write them instead of comparing.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

enum {
	GOLDEN_BYTES_MAX = 64 * 1024,
	GOLDEN_RECORDS = 13, /* in shop.rec */
};

static inline void golden_path(const char *name, char *ret_path, size_t path_bytes)
{
	(void)snprintf(ret_path, path_bytes, GOLDEN_FOLDER "/%s", name);
}

/* The file's bytes and a NUL, which the caller frees. */
static inline char *golden_read(const char *name, size_t *ret_bytes)
{
	char *bytes = malloc(GOLDEN_BYTES_MAX + 1);
	char path[4096];
	FILE *file;

	golden_path(name, path, sizeof(path));
	file = fopen(path, "rb");
	if (!file)
		fail_msg("no golden file %s", path);
	assert_non_null(bytes);
	*ret_bytes = fread(bytes, 1, GOLDEN_BYTES_MAX, file);
	bytes[*ret_bytes] = '\0';
	assert_int_equal(fclose(file), 0);
	return bytes;
}

static inline void golden_compare(const char *name, const void *bytes, size_t size_bytes)
{
	size_t expected_bytes;
	char *expected;

	if (getenv("GOLDEN_WRITE")) {
		char path[4096];
		FILE *file;

		golden_path(name, path, sizeof(path));
		file = fopen(path, "wb");
		assert_non_null(file);
		assert_int_equal(fwrite(bytes, 1, size_bytes, file), size_bytes);
		assert_int_equal(fclose(file), 0);
	}
	expected = golden_read(name, &expected_bytes);
	if (expected_bytes != size_bytes || memcmp(expected, bytes, size_bytes) != 0)
		print_message("%s differs (GOLDEN_WRITE=1 accepts the change); now it is:\n%.*s\n",
			      name, (int)size_bytes, (const char *)bytes);
	assert_int_equal(expected_bytes, size_bytes);
	assert_memory_equal(expected, bytes, size_bytes);
	free(expected);
}
