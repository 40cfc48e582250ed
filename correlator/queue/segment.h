/*
 * A segment of the backlog: whole entries, one after the other, that travel as one chunk. Filled
 * while open, never changed once sealed. Its bytes stay where they are while it is open, so that
 * another thread may read those that are counted in size_bytes. Under the backlog's lock, but for
 * the fields of the store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "queue/backlog.h"

struct segment {
	struct segment *prev, *next; /* utlist: oldest first */
	uint8_t random[CHUNK_ID_RANDOM_BYTES]; /* what the chunk's id is made of */
	uint8_t *bytes; /* NULL = not in memory */
	size_t size_bytes;
	size_t capacity_bytes; /* of bytes; 0 = not in memory */
	uint32_t entries;
	uint64_t first_ns; /* EventTime of its first and last entry */
	uint64_t last_ns;
	uint64_t opened_ns; /* CLOCK_MONOTONIC */
	bool is_sealed;
	bool is_taken; /* the reader has it */
	bool is_deferred; /* the reader has others first */
	bool is_busy; /* the keeper has it */
	bool is_kept; /* whole in the store */
	/* The store's: */
	uint64_t number; /* increases with age; 0 = none yet */
	uint64_t offset;
	size_t written_bytes;
	int fd; /* -1 = none */
};

/* Empty, with a new id: 0, -ENOMEM, or -errno of getrandom(2). */
int segment_new(size_t capacity_bytes, struct segment **ret_segment);
void segment_free(struct segment *segment);
DEFINE_CLEANUP(struct segment *, segment_free);

/* Adds one whole entry; false: no room. */
bool segment_put(struct segment *segment, const uint8_t *entry, size_t entry_bytes);

/* Gives back the memory that it did not need. Nobody else may be reading its bytes. */
void segment_seal(struct segment *segment);

/* Counts the whole entries in size_bytes of bytes, which may be torn; sets size_bytes to theirs,
 * and entries, first_ns and last_ns. */
void segment_salvage(struct segment *segment, const uint8_t *bytes, size_t size_bytes);
