/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is sent at once: whole entries under one identity. Pure but for its randomness; any thread.
 * And where the sender gets chunks from: the backlog of a recording, or recorded files.
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

/* All calls come from the sender's thread. */
struct chunk_source {
	void *user;
	/* The chunk to send now, the same one until it is done or deferred. 0; -EAGAIN: none yet,
	 * event_fd tells; -ENODATA: that was all; another -errno, logged: no more can be had. */
	int (*next)(void *user, struct chunk *ret_chunk);
	/* It was acked. */
	void (*done)(void *user);
	/* One entry of it that no collector takes: it is to be set aside. What became of it, to end
	 * a message with (static). */
	const char *(*reject)(void *user, const void *entry, size_t entry_bytes);
	/* Puts it behind the others for a while: 0; -ENOENT: there are no others. NULL = cannot. */
	int (*defer)(void *user);
	int event_fd; /* readable when next is worth a try; -1 = always */
};
