/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/gzip.h"

#include <stdlib.h>
#include <string.h>

#include "unit_test.h"
#include <zlib.h>

enum {
	SIZE_BYTES = 300000, /* many times what is given out at a time */
	WINDOW_BITS = 15 + 16, /* gzip's head and tail */
};

/* What cannot be made shorter. */
static void fill(uint8_t bytes[static SIZE_BYTES])
{
	uint64_t number = 1;

	for (size_t i = 0; i < SIZE_BYTES; i++) {
		number = number * UINT64_C(6364136223846793005) + 1442695040888963407;
		bytes[i] = (uint8_t)(number >> 56);
	}
}

TEST(gzip_output_inflates_to_input)
{
	static const size_t parts[] = { 0, 1, 70000, SIZE_BYTES - 70001, 0 };
	static uint8_t bytes[SIZE_BYTES], again[SIZE_BYTES + 1];
	z_stream stream = { 0 };
	size_t size_bytes, used = 0;
	char *packed = NULL;
	FILE *out = open_memstream(&packed, &size_bytes);
	struct gzip *gzip = gzip_new(out);

	fill(bytes);
	assert_non_null(gzip);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); used += parts[i++])
		gzip_put(gzip, bytes + used, parts[i]);
	gzip_end(gzip);
	gzip_free(gzip);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(inflateInit2(&stream, WINDOW_BITS), Z_OK);
	stream.next_in = (unsigned char *)packed;
	stream.avail_in = (unsigned int)size_bytes;
	stream.next_out = again;
	stream.avail_out = sizeof(again);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	assert_int_equal(stream.total_out, SIZE_BYTES);
	assert_memory_equal(again, bytes, SIZE_BYTES);
	(void)inflateEnd(&stream);
	free(packed);
}

TEST(gzip_free_accepts_null)
{
	gzip_free(NULL);
}
