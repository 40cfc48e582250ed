/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The segments of a backlog in their order, with its books: what is in memory, and what was lost.
 * All under the backlog's lock. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "queue/backlog.h"
#include "queue/segment.h"

struct segment_queue {
	struct segment *segments; /* utlist, oldest first; only the newest may be open */
	size_t memory_bytes; /* capacity of all that is in memory */
	uint64_t store_bytes; /* written of all that is in the store */
	struct backlog_status totals; /* only what has happened; the rest is counted when asked */
	struct gap gap;
};

/* Each: NULL = there is none. The newest, if it is open: */
struct segment *segment_queue_find_open(const struct segment_queue *queue);
/* The one that the reader has: */
struct segment *segment_queue_find_taken(const struct segment_queue *queue);
/* The oldest that is neither deferred nor unread nor the one excepted: */
struct segment *segment_queue_find_next(const struct segment_queue *queue,
					const struct segment *except);
/* None is deferred any more. */
void segment_queue_recall(struct segment_queue *queue);
/* None is unread any more. */
void segment_queue_recall_unread(struct segment_queue *queue);

void segment_queue_add(struct segment_queue *queue, struct segment *segment);
/* Off the queue; its bytes are as they were, but no longer counted. */
void segment_queue_remove(struct segment_queue *queue, struct segment *segment);
/* Seals it, and gives back the memory that it did not need, unless the keeper is reading there. */
void segment_queue_seal(struct segment_queue *queue, struct segment *segment);
/* Its bytes leave memory, and come back: bytes is taken over, of stored_bytes. */
void segment_queue_unload(struct segment_queue *queue, struct segment *segment);
void segment_queue_load(struct segment_queue *queue, struct segment *segment, uint8_t *bytes);

/* Counts what is lost. reason: static. */
void segment_queue_count_gap(struct segment_queue *queue, const struct gap *lost);
/* The same of records of a segment; with is_whole, of the segment itself. */
void segment_queue_count_lost(struct segment_queue *queue, const struct segment *segment,
			      uint32_t records, bool is_whole, const char *reason);
void segment_queue_get_status(const struct segment_queue *queue, struct backlog_status *ret_status);
