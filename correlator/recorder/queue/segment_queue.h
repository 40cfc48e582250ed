/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The segments of a backlog in their order, with its books: what is in memory, whose it is, and
 * what was lost. All under the backlog's lock. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "recorder/queue/backlog.h"
#include "recorder/queue/segment.h"
#include "recorder/queue/shares.h"

struct segment_queue {
	struct segment *segments; /* utlist, oldest first */
	struct segment *open[SHARES_LANES]; /* that are filled now; NULL = none */
	uint64_t last_order; /* of a segment */
	size_t memory_bytes; /* capacity of all that is in memory */
	uint64_t store_bytes; /* written of all that is in the store */
	struct backlog_status totals; /* only what has happened; the rest is counted when asked */
	struct shares shares;
};

/* Each: NULL = there is none. The one that the reader has: */
struct segment *segment_queue_find_taken(const struct segment_queue *queue);
/* The oldest that is neither deferred nor unread nor the one excepted: */
struct segment *segment_queue_find_next(const struct segment_queue *queue,
					const struct segment *except);
/* The one to be dropped of those that `may`: with the least bytes, in proportion, of processes that
 * do not wait with more than their share; of equals the oldest. */
struct segment *segment_queue_find_victim(struct segment_queue *queue,
					  bool (*may)(const struct segment *segment));
/* None is deferred any more. */
void segment_queue_recall(struct segment_queue *queue);
/* None is unread any more. */
void segment_queue_recall_unread(struct segment_queue *queue);

void segment_queue_deinit(struct segment_queue *queue);

/* Takes those of a spool, sealed, into the books. Whose they are nobody knows: 0, or -ENOMEM. */
int segment_queue_adopt(struct segment_queue *queue);
/* An empty one, which is open in that lane now. */
void segment_queue_add(struct segment_queue *queue, struct segment *segment, unsigned int lane);
/* Adds one whole entry of that process: 0; -ENOBUFS: no room; -ENOMEM. */
int segment_queue_put(struct segment_queue *queue, struct segment *segment, uint32_t pid,
		      const uint8_t *entry, size_t entry_bytes);
/* Off the queue; its bytes are as they were, but no longer counted. */
void segment_queue_remove(struct segment_queue *queue, struct segment *segment);
/* Seals it, and gives back the memory that it did not need, unless the keeper is reading there. */
void segment_queue_seal(struct segment_queue *queue, struct segment *segment);
/* Its bytes leave memory, and come back: bytes is taken over, of stored_bytes. */
void segment_queue_unload(struct segment_queue *queue, struct segment *segment);
void segment_queue_load(struct segment_queue *queue, struct segment *segment, uint8_t *bytes);

/* Counts a record that is lost. reason: static, as in those below. */
void segment_queue_lose_entry(struct segment_queue *queue, uint32_t pid, const uint8_t *entry,
			      const char *reason);
/* Some records of a segment: whose they are is known if all in it are of one process. */
void segment_queue_lose_some(struct segment_queue *queue, const struct segment *segment,
			     uint32_t records, const char *reason);
/* All of it, process by process. */
void segment_queue_lose_segment(struct segment_queue *queue, const struct segment *segment,
				const char *reason);
void segment_queue_get_status(const struct segment_queue *queue, struct backlog_status *ret_status);
