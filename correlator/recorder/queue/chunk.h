/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A chunk: whole entries that are sent at once under one ID. And the interface by which the sender
 * gets chunks: from the backlog of a recording, or from recorded files. Pure except for randomness;
 * any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	CHUNK_ID_RANDOM_BYTES = 16,
	CHUNK_ID_BYTES = 25, /* the random bytes in base64, and a NUL */
};

/* Whole entries [EventTime, map], one after the other. */
struct chunk {
	char id[CHUNK_ID_BYTES]; /* the same each time it is sent, also after a restart */
	const void *bytes; /* valid until the source's done or defer is called */
	size_t size_bytes;
	uint32_t entries;
};

/* Writes the ID that the random bytes encode to. */
void chunk_id_write(const uint8_t random[static CHUNK_ID_RANDOM_BYTES],
		    char ret_id[static CHUNK_ID_BYTES]);
/* Draws a new ID: 0, or -errno of getrandom(2). */
int chunk_id_draw(char ret_id[static CHUNK_ID_BYTES]);

/* All calls come from the sender's thread. */
struct chunk_source {
	void *user;
	/* The chunk to send now, the same one until it is done or deferred. 0; -EAGAIN: none yet,
	 * event_fd becomes readable; -ENODATA: there are no more; another -errno, logged: the
	 * source failed. */
	int (*next)(void *user, struct chunk *ret_chunk);
	/* The chunk was acked. */
	void (*done)(void *user);
	/* Sets aside one entry of the chunk that no collector accepts. Returns what became of it,
	 * as the end of a message (static). */
	const char *(*reject)(void *user, const void *entry, size_t entry_bytes);
	/* Puts the chunk behind the others for a while. 0; -ENOENT: there are no others. NULL =
	 * cannot. */
	int (*defer)(void *user);
	int event_fd; /* readable when next is worth a try; -1 = always */
};
