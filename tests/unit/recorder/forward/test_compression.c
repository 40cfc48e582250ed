/* SPDX-License-Identifier: GPL-2.0-only */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"
#include <zlib.h>

#include "failing_memory.h"
#include "recorder/forward/compression.h"

UNIT_TEST_ALONE;

enum {
	BYTES_MAX = 1024 * 1024,
	GZIP_WINDOW_BITS = 15 + 16, /* nothing else is taken */
};

/* It is one whole gzip stream of these bytes. */
static void expect_gzip(const void *packed, size_t packed_bytes, const uint8_t *bytes,
			size_t size_bytes)
{
	uint8_t *unpacked = malloc(size_bytes + 1);
	z_stream stream = { .next_in = (unsigned char *)packed,
			    .avail_in = (unsigned int)packed_bytes,
			    .next_out = unpacked,
			    .avail_out = (unsigned int)size_bytes + 1 };

	assert_non_null(unpacked);
	assert_int_equal(inflateInit2(&stream, GZIP_WINDOW_BITS), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.total_out, size_bytes);
	assert_int_equal(stream.avail_in, 0);
	if (size_bytes)
		assert_memory_equal(unpacked, bytes, size_bytes);
	assert_int_equal(inflateEnd(&stream), Z_OK);
	free(unpacked);
}

/* Whatever came before: nothing, less, more, what shrinks and what does not. */
TEST(compressor_emits_one_gzip_stream_per_payload)
{
	static const size_t sizes[] = { 0, 1, 1000, BYTES_MAX, 7, BYTES_MAX / 2, BYTES_MAX };
	struct compressor *compressor = compressor_new();
	uint8_t *bytes = malloc(BYTES_MAX);
	uint64_t random = 88172645463325252ULL;

	assert_true(compressor && bytes);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const void *packed = NULL;
		size_t packed_bytes = 0;

		for (size_t j = 0; j < sizes[i]; j++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			bytes[j] = i % 2 ? (uint8_t)random : (uint8_t)(j / 100);
		}
		assert_int_equal(
			compressor_run(compressor, bytes, sizes[i], &packed, &packed_bytes), 0);
		expect_gzip(packed, packed_bytes, bytes, sizes[i]);
		if (i % 2 == 0 && sizes[i] >= 1000)
			assert_true(packed_bytes < sizes[i] / 5);
	}
	compressor_free(compressor);
	free(bytes);
}

TEST(compressor_fails_without_memory_and_recovers)
{
	const uint8_t bytes[100] = { 0 };
	const void *packed = NULL;
	struct compressor *compressor;
	size_t packed_bytes = 0;

	memory_fails_once_after(0);
	assert_null(compressor_new());
	memory_never_fails();
	compressor = compressor_new();
	memory_fails_once_after(0);
	assert_int_equal(compressor_run(compressor, bytes, sizeof(bytes), &packed, &packed_bytes),
			 -ENOMEM);
	assert_int_equal(memory_failures(), 1);
	memory_never_fails();
	assert_null(packed);
	assert_int_equal(compressor_run(compressor, bytes, sizeof(bytes), &packed, &packed_bytes),
			 0);
	expect_gzip(packed, packed_bytes, bytes, sizeof(bytes));
	compressor_free(compressor);
	compressor_free(NULL);
}

/* Instead of zlib's: it may need more than one call. */
static bool is_whole = true;

int deflate(z_streamp stream, int flush)
{
	int (*real)(z_streamp, int) = (int (*)(z_streamp, int))dlsym(RTLD_NEXT, "deflate");

	return is_whole ? real(stream, flush) : Z_OK;
}

TEST(compressor_fails_on_incomplete_stream)
{
	const uint8_t bytes[100] = { 0 };
	struct compressor *compressor = compressor_new();
	const void *packed = NULL;
	size_t packed_bytes = 0;

	is_whole = false;
	assert_int_equal(compressor_run(compressor, bytes, sizeof(bytes), &packed, &packed_bytes),
			 -ENOMEM);
	is_whole = true;
	assert_null(packed);
	compressor_free(compressor);
}
