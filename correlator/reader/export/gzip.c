/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/gzip.h"

#include <stdlib.h>

#include <zlib.h>

enum {
	WINDOW_BITS_GZIP = 15 + 16,
	MEMORY_LEVEL = 8,
	OUTPUT_BYTES = 65536,
};

struct gzip {
	z_stream stream;
	FILE *out;
	unsigned char output[OUTPUT_BYTES];
};

struct gzip *gzip_new(FILE *out)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));

	if (gzip && deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS_GZIP,
				 MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return NULL;
	}
	if (gzip)
		gzip->out = out;
	return gzip;
}

void gzip_free(struct gzip *gzip)
{
	if (!gzip)
		return;
	(void)deflateEnd(&gzip->stream);
	free(gzip);
}

static void run(struct gzip *gzip, int flush)
{
	do {
		gzip->stream.next_out = gzip->output;
		gzip->stream.avail_out = OUTPUT_BYTES;
		/* Cannot fail: it has output space, and deflateInit2() allocated its memory. */
		(void)deflate(&gzip->stream, flush);
		(void)fwrite(gzip->output, 1, OUTPUT_BYTES - gzip->stream.avail_out, gzip->out);
	} while (gzip->stream.avail_out == 0);
}

void gzip_put(struct gzip *gzip, const void *bytes, size_t size_bytes)
{
	gzip->stream.next_in = (unsigned char *)bytes;
	gzip->stream.avail_in = (unsigned int)size_bytes;
	run(gzip, Z_NO_FLUSH);
}

void gzip_end(struct gzip *gzip)
{
	run(gzip, Z_FINISH);
}
