/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The segments of a backlog in order, with its books: what is in memory, which process it belongs
 * to, and what was lost. Everything is under the backlog's lock. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "recorder/queue/backlog.h"
#include "recorder/queue/segment.h"
#include "recorder/queue/shares.h"

struct segment_queue {
	struct segment *segments; /* utlist, oldest first */
	struct segment *open[SHARES_LANES]; /* per lane, the segment being filled; NULL = none */
	uint64_t last_order; /* the highest order of a segment so far */
	size_t memory_bytes; /* allocated by all segments in memory */
	uint64_t store_bytes; /* stored_bytes of all segments in the store */
	struct backlog_status totals; /* only events; the rest is counted on request */
	struct shares shares;
};

/* All three return NULL if there is none. The segment in use by the reader: */
struct segment *segment_queue_find_taken(const struct segment_queue *queue);
/* The oldest segment that is neither deferred nor unread nor `except`: */
struct segment *segment_queue_find_next(const struct segment_queue *queue,
					const struct segment *except);
/* The segment to drop, among those that may() accepts: the one with the lowest proportion of bytes
 * from processes within their share; of equals, the oldest. */
struct segment *segment_queue_find_victim(struct segment_queue *queue,
					  bool (*may)(const struct segment *segment));
/* Clears is_deferred of all segments. */
void segment_queue_recall(struct segment_queue *queue);
/* Clears is_unread of all segments. */
void segment_queue_recall_unread(struct segment_queue *queue);

void segment_queue_deinit(struct segment_queue *queue);

/* Enters the sealed segments of a spool in the books, under pid 0, because their processes are not
 * known. 0, or -ENOMEM. */
int segment_queue_adopt(struct segment_queue *queue);
/* Adds an empty segment and makes it the open one of the lane. */
void segment_queue_add(struct segment_queue *queue, struct segment *segment, unsigned int lane);
/* Adds one whole entry of process pid. 0; -ENOBUFS: no room; -ENOMEM. */
int segment_queue_put(struct segment_queue *queue, struct segment *segment, uint32_t pid,
		      const uint8_t *entry, size_t entry_bytes);
/* Takes a segment off the queue; its bytes stay allocated, but are no longer counted. */
void segment_queue_remove(struct segment_queue *queue, struct segment *segment);
/* Seals the segment, and frees the memory that it did not need, unless the keeper is reading it. */
void segment_queue_seal(struct segment_queue *queue, struct segment *segment);
/* unload frees the segment's bytes; load takes ownership of bytes, which has stored_bytes. */
void segment_queue_unload(struct segment_queue *queue, struct segment *segment);
void segment_queue_load(struct segment_queue *queue, struct segment *segment, uint8_t *bytes);

/* Counts one lost record. reason is static, also in the next two. */
void segment_queue_lose_entry(struct segment_queue *queue, uint32_t pid, const uint8_t *entry,
			      const char *reason);
/* Counts lost records of a segment: for its process if it has only one, else for pid 0. */
void segment_queue_lose_some(struct segment_queue *queue, const struct segment *segment,
			     uint32_t records, const char *reason);
/* Counts a whole segment as lost, process by process. */
void segment_queue_lose_segment(struct segment_queue *queue, const struct segment *segment,
				const char *reason);
void segment_queue_get_status(const struct segment_queue *queue, struct backlog_status *ret_status);
