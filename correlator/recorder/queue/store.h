/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the backlog keeps segments outside of memory: a spool (a directory that outlives us) or a
 * spill (a file without a name that dies with us). Called without the backlog's lock; what is
 * written, read or removed is held by the caller. Not more than one call at a time on one segment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct segment;
struct store;

struct store_type {
	bool is_durable; /* each segment belongs here, and may be sent once it is kept */
	/* Adds bytes of the segment from segment->written_bytes on, and their check; counts them
	 * there, and in stored_bytes: 0, or -errno, and it may be tried again. Opens the place of
	 * the segment if it has none. */
	int (*write)(struct store *store, struct segment *segment, const uint8_t *bytes,
		     size_t size_bytes);
	/* All of it was written, and is now kept, whatever happens. 0, or -errno: try again, from
	 * segment->written_bytes on. */
	int (*seal)(struct store *store, struct segment *segment);
	/* All that is there of it, segment->stored_bytes, checks included. 0; -ENOENT, -ENODATA:
	 * they are not there any more; any other -errno is a lack, and it may be tried again. */
	int (*read)(struct store *store, const struct segment *segment, uint8_t *ret_bytes);
	/* A damaged segment is set aside, or stays where it is. 0, or -errno: it is still there.
	 */
	int (*remove)(struct store *store, struct segment *segment);
	/* Sets an entry aside for good. 0, or -errno. */
	int (*reject)(struct store *store, const uint8_t *entry, size_t entry_bytes);
	/* Bytes that may still be written before the disk is too full for its other users. */
	uint64_t (*room)(struct store *store);
	void (*free)(struct store *store);
};

struct store {
	const struct store_type *type;
	const char *name; /* for messages; lives as long as the store */
	/* Found there when it was opened: */
	unsigned int unusable; /* files that could not be read, and were left where they are */
	unsigned int damaged; /* segments without a whole record: set aside */
};
