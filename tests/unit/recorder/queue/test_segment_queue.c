/* SPDX-License-Identifier: GPL-2.0-only */
/* The books of a queue of segments, and which of them is dropped. */
#include <errno.h>
#include <stdlib.h>

#include "unit_test.h"

#include "recorder/queue/numbered_entries.h"
#include "recorder/queue/segment_queue.h"

enum {
	ENTRY = sizeof(struct numbered_entry),
};

static void put(struct segment_queue *queue, struct segment *segment, uint32_t pid, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct numbered_entry entry = number_entry_of(pid, i);

		assert_int_equal(
			segment_queue_put(queue, segment, pid, (const uint8_t *)&entry, ENTRY), 0);
	}
}

static struct segment *add(struct segment_queue *queue, size_t capacity_bytes, uint64_t count)
{
	struct segment *segment = NULL;

	assert_int_equal(segment_new(capacity_bytes, &segment), 0);
	segment_queue_add(queue, segment, 0);
	put(queue, segment, 0, count);
	return segment;
}

/* Through all that may become of a segment. */
TEST(segment_queue_tracks_memory_of_its_segments)
{
	struct segment_queue queue = { 0 };
	struct segment *one = add(&queue, 10 * ENTRY, 3), *two = add(&queue, 5 * ENTRY, 2);
	struct backlog_status status;
	uint8_t *bytes;

	assert_int_equal(queue.memory_bytes, 15 * ENTRY);
	assert_ptr_equal(queue.open[0], two);
	segment_queue_seal(&queue, one);
	assert_true(one->is_sealed);
	assert_int_equal(queue.memory_bytes, (3 + 5) * ENTRY);
	/* The keeper reads there: its bytes stay where they are. */
	two->is_busy = true;
	bytes = two->bytes;
	segment_queue_seal(&queue, two);
	assert_ptr_equal(two->bytes, bytes);
	assert_int_equal(queue.memory_bytes, (3 + 5) * ENTRY);
	assert_null(queue.open[0]);
	segment_queue_unload(&queue, one);
	assert_null(one->bytes);
	assert_int_equal(queue.memory_bytes, 5 * ENTRY);
	one->stored_bytes = 3 * ENTRY;
	segment_queue_load(&queue, one, malloc(3 * ENTRY));
	assert_int_equal(queue.memory_bytes, (3 + 5) * ENTRY);
	one->is_kept = true;
	queue.store_bytes = 17;
	segment_queue_get_status(&queue, &status);
	assert_int_equal(status.memory_bytes, (3 + 5) * ENTRY);
	assert_int_equal(status.store_bytes, 17);
	assert_int_equal(status.queued_records, 5);
	assert_int_equal(status.kept_records, 3);
	assert_int_equal(status.queued_bytes, 5 * ENTRY);
	segment_queue_remove(&queue, two);
	assert_int_equal(queue.memory_bytes, 3 * ENTRY);
	segment_queue_remove(&queue, one);
	assert_int_equal(queue.memory_bytes, 0);
	assert_null(queue.segments);
	assert_null(queue.open[0]);
	segment_free(one);
	segment_free(two);
	segment_queue_deinit(&queue);
}

TEST(segment_queue_next_is_oldest_not_deferred)
{
	struct segment_queue queue = { 0 };
	struct segment *one = add(&queue, ENTRY, 1), *two = add(&queue, ENTRY, 1);

	assert_null(segment_queue_find_taken(&queue));
	two->is_taken = true;
	assert_ptr_equal(segment_queue_find_taken(&queue), two);
	assert_ptr_equal(segment_queue_find_next(&queue, NULL), one);
	assert_ptr_equal(segment_queue_find_next(&queue, one), two);
	one->is_deferred = true;
	assert_ptr_equal(segment_queue_find_next(&queue, NULL), two);
	assert_null(segment_queue_find_next(&queue, two));
	segment_queue_recall(&queue);
	assert_ptr_equal(segment_queue_find_next(&queue, two), one);
	segment_queue_deinit(&queue);
}

static bool all_may(const struct segment *segment)
{
	(void)segment;
	return true;
}

static bool may_but_busy(const struct segment *segment)
{
	return !segment->is_busy;
}

/* A segment with what three processes put in. */
static struct segment *add_of(struct segment_queue *queue, uint64_t ones, uint64_t twos,
			      uint64_t threes)
{
	struct segment *segment = add(queue, (ones + twos + threes) * ENTRY, 0);

	put(queue, segment, 1, ones);
	put(queue, segment, 2, twos);
	put(queue, segment, 3, threes);
	return segment;
}

static struct segment *victim(struct segment_queue *queue)
{
	return segment_queue_find_victim(queue, all_may);
}

TEST(segment_queue_victim_is_oldest_above_its_share)
{
	struct segment_queue queue = { 0 };
	struct segment *small = add_of(&queue, 1, 0, 0), *mixed = add_of(&queue, 1, 5, 0);
	struct segment *large = add_of(&queue, 0, 3, 0), *larger = add_of(&queue, 0, 3, 0);

	/* Process 1 waits with 2, process 2 with 11, and a share is 6.5. */
	assert_ptr_equal(victim(&queue), large);
	large->is_busy = true;
	assert_ptr_equal(segment_queue_find_victim(&queue, may_but_busy), larger);
	larger->is_busy = true;
	/* With one record of process 1 five of the other go, not that alone. */
	assert_ptr_equal(segment_queue_find_victim(&queue, may_but_busy), mixed);
	mixed->is_busy = true;
	assert_ptr_equal(segment_queue_find_victim(&queue, may_but_busy), small);
	small->is_busy = true;
	assert_null(segment_queue_find_victim(&queue, may_but_busy));
	segment_queue_deinit(&queue);
}

TEST(segment_queue_victim_among_equals_is_oldest)
{
	struct segment_queue queue = { 0 };
	struct segment *first = add_of(&queue, 2, 2, 0), *second = add_of(&queue, 2, 2, 0);

	assert_ptr_equal(victim(&queue), first);
	segment_queue_remove(&queue, first);
	segment_free(first);
	assert_ptr_equal(victim(&queue), second);
	segment_queue_deinit(&queue);
}

static struct gap take(struct segment_queue *queue)
{
	struct gap gap = { 0 };

	assert_true(shares_take_gap(&queue->shares, &gap));
	return gap;
}

TEST(segment_queue_reports_lost_segment_per_process)
{
	struct segment_queue queue = { 0 };
	struct segment *segment = add_of(&queue, 2, 3, 0);
	struct gap gap;

	segment_queue_lose_segment(&queue, segment, "one");
	segment_queue_remove(&queue, segment);
	segment_free(segment);
	assert_int_equal(queue.totals.dropped_records, 5);
	assert_int_equal(queue.totals.dropped_segments, 1);
	gap = take(&queue);
	assert_int_equal(gap.pid, 1);
	assert_int_equal(gap.dropped_records, 2);
	assert_int_equal(gap.pid_dropped_records, 2);
	assert_int_equal(gap.dropped_segments, 0);
	assert_int_equal(gap.first_ns, numbered_time_ns(0));
	assert_int_equal(gap.last_ns, numbered_time_ns(1));
	assert_string_equal(gap.reason, "one");
	gap = take(&queue);
	assert_int_equal(gap.pid, 2);
	assert_int_equal(gap.dropped_records, 3);
	assert_int_equal(gap.dropped_segments, 1);
	assert_int_equal(gap.last_ns, numbered_time_ns(2));
	assert_false(shares_take_gap(&queue.shares, &gap));
	assert_int_equal(queue.shares.queued_bytes, 0);
	segment_queue_deinit(&queue);
}

TEST(segment_queue_attributes_partial_loss_only_if_one_process)
{
	struct segment_queue queue = { 0 };
	struct segment *mixed = add_of(&queue, 2, 3, 0), *pure = add_of(&queue, 0, 3, 0);
	struct gap gap;

	segment_queue_lose_some(&queue, pure, 1, "damage");
	segment_queue_lose_some(&queue, mixed, 2, "damage");
	gap = take(&queue);
	assert_int_equal(gap.pid, 2);
	assert_int_equal(gap.dropped_records, 1);
	assert_int_equal(gap.dropped_segments, 0);
	gap = take(&queue);
	assert_int_equal(gap.pid, 0);
	assert_int_equal(gap.dropped_records, 2);
	assert_int_equal(gap.first_ns, mixed->first_ns);
	assert_int_equal(gap.last_ns, mixed->last_ns);
	assert_int_equal(queue.totals.dropped_records, 3);
	assert_int_equal(queue.totals.dropped_segments, 0);
	segment_queue_deinit(&queue);
}

TEST(segment_queue_adopts_spool_segments_without_process)
{
	struct segment_queue queue = { 0 };
	struct segment *segment;
	struct gap gap;

	assert_int_equal(segment_new(0, &segment), 0);
	segment->prev = segment;
	segment->is_sealed = segment->is_kept = true;
	segment->entries = 7;
	segment->size_bytes = 7 * ENTRY;
	segment->stored_bytes = 300;
	queue.segments = segment;
	assert_int_equal(segment_queue_adopt(&queue), 0);
	assert_int_equal(queue.store_bytes, 300);
	assert_int_equal(queue.shares.nobody.queued_bytes, 7 * ENTRY);
	segment_queue_lose_segment(&queue, segment, "spool full");
	gap = take(&queue);
	assert_int_equal(gap.pid, 0);
	assert_int_equal(gap.dropped_records, 7);
	segment_queue_deinit(&queue);
}
