/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A segment of the backlog: whole entries, one after the other, that travel as one chunk. Filled
 * while open, never changed once sealed. Its bytes stay where they are while it is open, so that
 * another thread may read those that are counted in size_bytes. All under the backlog's lock, but
 * for the fields of the store. Pure but for randomness.
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
	struct share *share; /* the process's: in a queue it is there as long as the part */
	uint32_t entries;
	uint64_t size_bytes;
	uint64_t first_ns; /* as the segment's */
	uint64_t last_ns;
};

struct segment {
	struct segment *prev, *next; /* utlist: oldest first */
	uint8_t random[CHUNK_ID_RANDOM_BYTES]; /* what the chunk's id is made of */
	uint8_t *bytes; /* NULL = not in memory */
	size_t size_bytes;
	size_t capacity_bytes; /* of bytes; 0 = not in memory */
	uint32_t entries;
	uint64_t first_ns; /* EventTime of its first and last entry */
	uint64_t last_ns;
	struct segment_part *parts; /* all that was put in, as it was then */
	size_t part_count;
	uint64_t order; /* a younger one has a higher one, from 1 */
	unsigned int lane; /* of the queue, in which it was filled */
	uint64_t opened_ns; /* CLOCK_MONOTONIC */
	bool is_sealed;
	bool is_taken; /* the reader has it */
	bool is_deferred; /* the reader has others first */
	bool is_unread; /* it could not be read: the reader has others first, for a while */
	bool is_busy; /* the keeper has it */
	bool is_kept; /* whole in the store */
	bool is_damaged; /* there: counted and said, and to be set aside */
	bool has_checks; /* bytes, as they were read back */
	/* The store's: */
	bool is_cut_off; /* under the name of one that is open */
	uint64_t number; /* increases with age; 0 = none yet */
	uint64_t offset;
	size_t written_bytes; /* of bytes */
	size_t stored_bytes; /* there: the same, and checks (check.h) */
	bool is_checked; /* there are checks; not in what an older correlator left */
	int fd; /* -1 = none */
};

/* Empty, with a new id: 0, -ENOMEM, or -errno of getrandom(2). */
int segment_new(size_t capacity_bytes, struct segment **ret_segment);
void segment_free(struct segment *segment);
DEFINE_CLEANUP(struct segment *, segment_free);

/* A new part of a process, and its index: 0 or -ENOMEM. */
int segment_add_part(struct segment *segment, struct share *share, size_t *ret_part);
bool segment_has_room(const struct segment *segment, size_t entry_bytes);
/* Adds one whole entry, for which there is room, to that part. */
void segment_put(struct segment *segment, size_t part, const uint8_t *entry, size_t entry_bytes);

/* Counts the whole entries at the front of bytes, up to a torn one; sets size_bytes to theirs and
 * their checks', and entries, first_ns and last_ns to those of the records. */
void segment_count(struct segment *segment, const uint8_t *bytes, size_t size_bytes);

struct segment_salvage {
	size_t end_bytes; /* behind the last whole entry, or its check */
	size_t lost_bytes; /* what is none, or does not check; also behind that */
};

/*
 * Moves the whole entries of bytes that may be torn or damaged to their front, with is_checked
 * those that check, without the checks; sets size_bytes to theirs, and entries, first_ns and
 * last_ns.
 */
struct segment_salvage segment_salvage(struct segment *segment, bool is_checked, uint8_t *bytes,
				       size_t size_bytes);
