/* SPDX-License-Identifier: GPL-2.0-only */
#include "queue/segment_queue.h"

#include <stdlib.h>

#include <utlist.h>

struct segment *segment_queue_find_open(const struct segment_queue *queue)
{
	struct segment *newest = queue->segments ? queue->segments->prev : NULL;

	return newest && !newest->is_sealed ? newest : NULL;
}

struct segment *segment_queue_find_taken(const struct segment_queue *queue)
{
	struct segment *segment;

	DL_FOREACH(queue->segments, segment)
		if (segment->is_taken)
			return segment;
	return NULL;
}

struct segment *segment_queue_find_next(const struct segment_queue *queue,
					const struct segment *except)
{
	struct segment *segment;

	DL_FOREACH(queue->segments, segment)
		if (!segment->is_deferred && !segment->is_unread && segment != except)
			return segment;
	return NULL;
}

void segment_queue_recall(struct segment_queue *queue)
{
	struct segment *segment;

	DL_FOREACH(queue->segments, segment)
		segment->is_deferred = false;
}

void segment_queue_recall_unread(struct segment_queue *queue)
{
	struct segment *segment;

	DL_FOREACH(queue->segments, segment)
		segment->is_unread = false;
}

void segment_queue_add(struct segment_queue *queue, struct segment *segment)
{
	DL_APPEND(queue->segments, segment);
	queue->memory_bytes += segment->capacity_bytes;
}

void segment_queue_remove(struct segment_queue *queue, struct segment *segment)
{
	DL_DELETE(queue->segments, segment);
	queue->memory_bytes -= segment->capacity_bytes;
	segment->capacity_bytes = 0;
}

void segment_queue_seal(struct segment_queue *queue, struct segment *segment)
{
	uint8_t *shrunk;

	segment->is_sealed = true;
	if (segment->is_busy)
		return;
	shrunk = realloc(segment->bytes, segment->size_bytes);
	if (!shrunk)
		return;
	queue->memory_bytes -= segment->capacity_bytes - segment->size_bytes;
	segment->bytes = shrunk;
	segment->capacity_bytes = segment->size_bytes;
}

void segment_queue_unload(struct segment_queue *queue, struct segment *segment)
{
	queue->memory_bytes -= segment->capacity_bytes;
	segment->capacity_bytes = 0;
	free(TAKE_PTR(segment->bytes));
}

void segment_queue_load(struct segment_queue *queue, struct segment *segment, uint8_t *bytes)
{
	segment->bytes = bytes;
	segment->capacity_bytes = segment->stored_bytes;
	queue->memory_bytes += segment->capacity_bytes;
	segment->size_bytes = segment->stored_bytes;
	segment->has_checks = segment->is_checked;
}

void segment_queue_count_gap(struct segment_queue *queue, const struct gap *lost)
{
	queue->totals.dropped_records += lost->dropped_records;
	queue->totals.dropped_segments += lost->dropped_segments;
	gap_add(&queue->gap, lost);
}

void segment_queue_count_lost(struct segment_queue *queue, const struct segment *segment,
			      uint32_t records, bool is_whole, const char *reason)
{
	const struct gap lost = {
		.dropped_records = records,
		.dropped_segments = is_whole,
		.first_ns = segment->first_ns,
		.last_ns = segment->last_ns,
		.reason = reason,
	};

	segment_queue_count_gap(queue, &lost);
}

void segment_queue_get_status(const struct segment_queue *queue, struct backlog_status *ret_status)
{
	const struct segment *segment;

	*ret_status = queue->totals;
	ret_status->memory_bytes = queue->memory_bytes;
	ret_status->store_bytes = queue->store_bytes;
	DL_FOREACH(queue->segments, segment) {
		ret_status->queued_bytes += segment->size_bytes;
		ret_status->queued_records += segment->entries;
		if (segment->is_kept)
			ret_status->kept_records += segment->entries;
	}
}
