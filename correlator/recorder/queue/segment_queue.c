/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/queue/segment_queue.h"

#include <errno.h>
#include <stdlib.h>

#include <utlist.h>

#include "record/entry_scan.h"

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

/* Bytes in a segment, and how many of them belong to processes within their share. */
struct weight {
	uint64_t all_bytes, within_bytes;
};

static struct weight weigh(const struct shares *shares, const struct segment *segment)
{
	struct weight weight = { 0 };

	for (size_t i = 0; i < segment->part_count; i++) {
		const struct segment_part *part = &segment->parts[i];

		weight.all_bytes += part->size_bytes;
		if (!shares_is_above(shares, part->share))
			weight.within_bytes += part->size_bytes;
	}
	return weight;
}

struct segment *segment_queue_find_victim(struct segment_queue *queue,
					  bool (*may)(const struct segment *segment))
{
	struct segment *segment, *best = NULL;
	struct weight weight, least = { 0 };

	DL_FOREACH(queue->segments, segment) {
		if (!may(segment))
			continue;
		weight = weigh(&queue->shares, segment);
		if (best &&
		    weight.within_bytes * least.all_bytes >= least.within_bytes * weight.all_bytes)
			continue;
		best = segment;
		least = weight;
		if (!least.within_bytes)
			break;
	}
	return best;
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

void segment_queue_deinit(struct segment_queue *queue)
{
	struct segment *segment, *next;

	DL_FOREACH_SAFE(queue->segments, segment, next)
		segment_free(segment);
	shares_deinit(&queue->shares);
}

int segment_queue_adopt(struct segment_queue *queue)
{
	struct share *nobody = shares_find(&queue->shares, 0);
	struct segment *segment;

	DL_FOREACH(queue->segments, segment) {
		struct segment_part *part;
		size_t index;

		if (segment_add_part(segment, nobody, &index) < 0)
			return -ENOMEM;
		part = &segment->parts[index];
		part->entries = segment->entries;
		part->size_bytes = segment->size_bytes;
		part->first_ns = segment->first_ns;
		part->last_ns = segment->last_ns;
		shares_add(&queue->shares, nobody, part->size_bytes);
		segment->order = ++queue->last_order;
		queue->store_bytes += segment->stored_bytes;
	}
	return 0;
}

void segment_queue_add(struct segment_queue *queue, struct segment *segment, unsigned int lane)
{
	DL_APPEND(queue->segments, segment);
	queue->memory_bytes += segment->capacity_bytes;
	segment->order = ++queue->last_order;
	segment->lane = lane;
	queue->open[lane] = segment;
}

int segment_queue_put(struct segment_queue *queue, struct segment *segment, uint32_t pid,
		      const uint8_t *entry, size_t entry_bytes)
{
	struct share *share;

	if (!segment_has_room(segment, entry_bytes))
		return -ENOBUFS;
	share = shares_get(&queue->shares, pid);
	if (!share)
		return -ENOMEM;
	if (share->segment_order != segment->order) {
		int r = segment_add_part(segment, share, &share->segment_part);

		if (r < 0)
			return r;
		share->segment_order = segment->order;
	}
	segment_put(segment, share->segment_part, entry, entry_bytes);
	shares_add(&queue->shares, share, entry_bytes);
	return 0;
}

static void close_open(struct segment_queue *queue, const struct segment *segment)
{
	if (queue->open[segment->lane] == segment)
		queue->open[segment->lane] = NULL;
}

void segment_queue_remove(struct segment_queue *queue, struct segment *segment)
{
	DL_DELETE(queue->segments, segment);
	queue->memory_bytes -= segment->capacity_bytes;
	segment->capacity_bytes = 0;
	close_open(queue, segment);
	for (size_t i = 0; i < segment->part_count; i++)
		shares_take(&queue->shares, segment->parts[i].share, segment->parts[i].size_bytes);
	segment->part_count = 0;
}

/* The segment may be one of many, and stay for long. */
static void shrink_parts(struct segment *segment)
{
	struct segment_part *shrunk =
		reallocarray(segment->parts, segment->part_count, sizeof(*shrunk));

	if (shrunk)
		segment->parts = shrunk;
}

void segment_queue_seal(struct segment_queue *queue, struct segment *segment)
{
	uint8_t *shrunk;

	shrink_parts(segment);
	segment->is_sealed = true;
	close_open(queue, segment);
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

static void count(struct segment_queue *queue, uint32_t pid, const struct gap *lost)
{
	queue->totals.dropped_records += lost->dropped_records;
	shares_lose(&queue->shares, pid, lost);
}

void segment_queue_lose_entry(struct segment_queue *queue, uint32_t pid, const uint8_t *entry,
			      const char *reason)
{
	const uint64_t time_ns = entry_time_ns(entry);
	const struct gap lost = {
		.dropped_records = 1, .first_ns = time_ns, .last_ns = time_ns, .reason = reason
	};

	count(queue, pid, &lost);
}

void segment_queue_lose_some(struct segment_queue *queue, const struct segment *segment,
			     uint32_t records, const char *reason)
{
	const struct gap lost = {
		.dropped_records = records,
		.first_ns = segment->first_ns,
		.last_ns = segment->last_ns,
		.reason = reason,
	};

	count(queue, segment->part_count == 1 ? segment->parts[0].share->pid : 0, &lost);
}

void segment_queue_lose_segment(struct segment_queue *queue, const struct segment *segment,
				const char *reason)
{
	size_t most = 0;

	queue->totals.dropped_segments++;
	for (size_t i = 1; i < segment->part_count; i++)
		if (segment->parts[i].size_bytes > segment->parts[most].size_bytes)
			most = i;
	for (size_t i = 0; i < segment->part_count; i++) {
		const struct segment_part *part = &segment->parts[i];
		const struct gap lost = {
			.dropped_records = part->entries,
			.dropped_segments = i == most,
			.first_ns = part->first_ns,
			.last_ns = part->last_ns,
			.reason = reason,
		};

		count(queue, part->share->pid, &lost);
	}
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
