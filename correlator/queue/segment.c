/* SPDX-License-Identifier: GPL-2.0-only */
#include "queue/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/random.h"
#include "record/check.h"
#include "record/checked_entries.h"
#include "record/entry_scan.h"

int segment_new(size_t capacity_bytes, struct segment **ret_segment)
{
	_cleanup_(segment_freep) struct segment *segment = calloc(1, sizeof(*segment));
	int r;

	if (!segment)
		return -ENOMEM;
	segment->fd = -1;
	if (capacity_bytes) {
		segment->bytes = malloc(capacity_bytes);
		if (!segment->bytes)
			return -ENOMEM;
	}
	segment->capacity_bytes = capacity_bytes;
	r = random_bytes(segment->random, sizeof(segment->random));
	if (r < 0)
		return r;
	*ret_segment = TAKE_PTR(segment);
	return 0;
}

void segment_free(struct segment *segment)
{
	if (!segment)
		return;
	cleanup_fd(&segment->fd);
	free(segment->bytes);
	free(segment);
}

static void count_entry(struct segment *segment, const uint8_t *entry, size_t entry_bytes)
{
	segment->size_bytes += entry_bytes;
	segment->last_ns = entry_time_ns(entry);
	if (!segment->entries++)
		segment->first_ns = segment->last_ns;
}

bool segment_put(struct segment *segment, const uint8_t *entry, size_t entry_bytes)
{
	if (entry_bytes > segment->capacity_bytes - segment->size_bytes)
		return false;
	memcpy(segment->bytes + segment->size_bytes, entry, entry_bytes);
	count_entry(segment, entry, entry_bytes);
	return true;
}

void segment_count(struct segment *segment, const uint8_t *bytes, size_t size_bytes)
{
	size_t part_bytes;

	segment->size_bytes = 0;
	segment->entries = 0;
	while (entry_search(bytes + segment->size_bytes, size_bytes - segment->size_bytes, true,
			    &part_bytes) == 0) {
		const uint8_t *entry = bytes + segment->size_bytes;

		if (check_is(entry, part_bytes))
			segment->size_bytes += part_bytes;
		else
			count_entry(segment, entry, part_bytes);
	}
}

struct segment_salvage segment_salvage(struct segment *segment, bool is_checked, uint8_t *bytes,
				       size_t size_bytes)
{
	struct checked_entries entries = { .is_checked = is_checked };
	struct segment_salvage salvage = { 0 };
	size_t at = 0, part_bytes;
	int r;

	segment->size_bytes = 0;
	segment->entries = 0;
	while ((r = checked_search(&entries, bytes + at, size_bytes - at, true, &part_bytes)) !=
	       -EAGAIN) {
		bool is_good = r >= 0 && !(is_checked && entries.is_loose);

		if (is_good && r != CHECKED_CHECK) {
			/* Nobody who reads along may see a write where nothing is damaged. */
			if (at > segment->size_bytes)
				memmove(bytes + segment->size_bytes, bytes + at, part_bytes);
			count_entry(segment, bytes + segment->size_bytes, part_bytes);
		}
		checked_pass(&entries, part_bytes);
		at += part_bytes;
		if (is_good)
			salvage.end_bytes = at;
		else
			salvage.lost_bytes += part_bytes;
	}
	salvage.lost_bytes += size_bytes - at;
	return salvage;
}

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

void segment_queue_count_gap(struct segment_queue *queue, const struct backlog_gap *lost)
{
	struct backlog_gap *gap = &queue->gap;

	queue->totals.dropped_records += lost->dropped_records;
	queue->totals.dropped_segments += lost->dropped_segments;
	if (!gap->dropped_records || lost->first_ns < gap->first_ns)
		gap->first_ns = lost->first_ns;
	if (lost->last_ns > gap->last_ns)
		gap->last_ns = lost->last_ns;
	gap->dropped_records += lost->dropped_records;
	gap->dropped_segments += lost->dropped_segments;
	gap->reason = lost->reason;
}

void segment_queue_count_lost(struct segment_queue *queue, const struct segment *segment,
			      uint32_t records, bool is_whole, const char *reason)
{
	const struct backlog_gap lost = {
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
