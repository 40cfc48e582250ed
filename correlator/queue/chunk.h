/* What is sent at once: whole entries under one identity. Pure but for its randomness; any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	CHUNK_ID_RANDOM_BYTES = 16,
	CHUNK_ID_BYTES = 25, /* the same in base64, and a NUL */
};

/* Whole entries [EventTime, map], one after the other. */
struct chunk {
	char id[CHUNK_ID_BYTES]; /* the same each time it is sent, also after a restart */
	const void *bytes; /* valid until its source is told that it is done */
	size_t size_bytes;
	uint32_t entries;
};

/* The identity that these random bytes make. */
void chunk_id_write(const uint8_t random[static CHUNK_ID_RANDOM_BYTES],
		    char ret_id[static CHUNK_ID_BYTES]);
/* A new one: 0, or -errno of getrandom(2). */
int chunk_id_draw(char ret_id[static CHUNK_ID_BYTES]);
