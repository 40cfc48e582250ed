/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the backlog keeps segments outside of memory: a spool (a directory that survives our exit)
 * or a spill (an unnamed file that does not). Called without the backlog's lock; the caller
 * protects what is written, read or removed. At most one call at a time per segment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct segment;
struct store;

struct store_type {
	bool is_durable; /* every segment must be stored, and may be sent once it is kept */
	/* Appends bytes, the segment's from segment->written_bytes on, and their check. Adds them
	 * to written_bytes and stored_bytes. Creates the segment's file if it has none. 0, or
	 * -errno: may be retried. */
	int (*write)(struct store *store, struct segment *segment, const uint8_t *bytes,
		     size_t size_bytes);
	/* Makes a completely written segment durable. 0, or -errno: retry from
	 * segment->written_bytes on. */
	int (*seal)(struct store *store, struct segment *segment);
	/* Reads segment->stored_bytes, including checks. 0; -ENOENT, -ENODATA: the bytes are gone;
	 * any other -errno is transient and may be retried. */
	int (*read)(struct store *store, const struct segment *segment, uint8_t *ret_bytes);
	/* Removes the segment. A spool sets a damaged one aside, or leaves it in place. 0, or
	 * -errno: it is still there. */
	int (*remove)(struct store *store, struct segment *segment);
	/* Sets an entry aside permanently. 0, or -errno. */
	int (*reject)(struct store *store, const uint8_t *entry, size_t entry_bytes);
	/* Bytes that may be written before the disk is too full for its other users. */
	uint64_t (*room)(struct store *store);
	void (*free)(struct store *store);
};

struct store {
	const struct store_type *type;
	const char *name; /* for messages; lives as long as the store */
	/* Found when the store was opened: */
	unsigned int unusable; /* files that could not be read, and were left where they are */
	unsigned int damaged; /* segments without a whole record: set aside */
};
