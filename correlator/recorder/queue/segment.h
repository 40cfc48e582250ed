/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A segment of the backlog: whole entries in sequence that travel as one chunk. Filled while open,
 * never changed once sealed. While it is open its bytes do not move, so that another thread may
 * read the first size_bytes. Everything is under the backlog's lock, except the store's fields.
 * Pure except for randomness.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/queue/chunk.h"

struct share;

/* The records of one process in a segment. */
struct segment_part {
	struct share *share; /* of the process; in a queue it lives as long as the part */
	uint32_t entries;
	uint64_t size_bytes;
	uint64_t first_ns; /* EventTime of its first and last entry */
	uint64_t last_ns;
};

struct segment {
	struct segment *prev, *next; /* utlist: oldest first */
	uint8_t random[CHUNK_ID_RANDOM_BYTES]; /* encoded as the chunk's id */
	uint8_t *bytes; /* NULL = not in memory */
	size_t size_bytes;
	size_t capacity_bytes; /* allocated size of bytes; 0 = not in memory */
	uint32_t entries;
	uint64_t first_ns; /* EventTime of its first and last entry */
	uint64_t last_ns;
	struct segment_part *parts; /* everything put in, with its sizes at that time */
	size_t part_count;
	uint64_t order; /* higher in younger segments, from 1 */
	unsigned int lane; /* lane of the queue in which it was filled */
	uint64_t opened_ns; /* CLOCK_MONOTONIC */
	bool is_sealed;
	bool is_taken; /* in use by the reader */
	bool is_deferred; /* the reader takes others first */
	bool is_unread; /* could not be read: the reader takes others first, for a while */
	bool is_busy; /* in use by the keeper */
	bool is_kept; /* complete in the store */
	bool is_damaged; /* in the store: counted, logged, and to be set aside */
	bool has_checks; /* bytes still contain the checks that were read back */
	/* Set by the store: */
	bool is_cut_off; /* the file has the name of an open segment */
	uint64_t number; /* of the file, higher in younger segments; 0 = none yet */
	uint64_t offset;
	size_t written_bytes; /* how many of bytes are written */
	size_t stored_bytes; /* size in the store, with checks (check.h) */
	bool is_checked; /* the store has checks; false for files of an older correlator */
	int fd; /* -1 = none */
};

/* Makes an empty segment with a new id: 0, -ENOMEM, or -errno of getrandom(2). */
int segment_new(size_t capacity_bytes, struct segment **ret_segment);
void segment_free(struct segment *segment);
DEFINE_CLEANUP(struct segment *, segment_free);

/* Adds a part for a process and returns its index in *ret_part. 0 or -ENOMEM. */
int segment_add_part(struct segment *segment, struct share *share, size_t *ret_part);
bool segment_has_room(const struct segment *segment, size_t entry_bytes);
/* Adds one whole entry, for which there must be room, to that part. */
void segment_put(struct segment *segment, size_t part, const uint8_t *entry, size_t entry_bytes);

/* Counts the whole entries at the front of bytes, up to a torn one. Sets size_bytes to their size
 * including checks, and entries, first_ns and last_ns to those of the records. */
void segment_count(struct segment *segment, const uint8_t *bytes, size_t size_bytes);

struct segment_salvage {
	size_t end_bytes; /* end of the last whole entry, or its check */
	size_t lost_bytes; /* of no whole entry, or with a failed check; also behind end_bytes */
};

/*
 * Moves the whole entries of bytes, which may be torn or damaged, to their front without the
 * checks; with is_checked only entries whose check holds. Sets size_bytes, entries, first_ns and
 * last_ns accordingly.
 */
struct segment_salvage segment_salvage(struct segment *segment, bool is_checked, uint8_t *bytes,
				       size_t size_bytes);
