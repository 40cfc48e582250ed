/* SPDX-License-Identifier: GPL-2.0-only */
/* A segment, and the books of their queue. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "queue/numbered_entries.h"
#include "queue/segment_queue.h"

enum {
	ENTRY = sizeof(struct numbered_entry),
};

static struct segment *make(size_t capacity_bytes)
{
	struct segment *segment = NULL;

	assert_int_equal(segment_new(capacity_bytes, &segment), 0);
	return segment;
}

static bool put(struct segment *segment, uint64_t number)
{
	struct numbered_entry entry = number_entry(number);

	return segment_put(segment, (const uint8_t *)&entry, ENTRY);
}

static void it_takes_what_there_is_room_for(void **state)
{
	struct segment *segment = make(2 * ENTRY);

	(void)state;
	assert_int_equal(segment->fd, -1);
	assert_true(put(segment, 7));
	assert_true(put(segment, 9));
	assert_false(put(segment, 10));
	assert_int_equal(segment->entries, 2);
	assert_int_equal(segment->size_bytes, 2 * ENTRY);
	assert_int_equal(segment->first_ns, numbered_time_ns(7));
	assert_int_equal(segment->last_ns, numbered_time_ns(9));
	assert_int_equal(entry_number(segment->bytes, 0), 7);
	assert_int_equal(entry_number(segment->bytes, 1), 9);
	segment_free(segment);
	segment = make(2 * ENTRY - 1);
	assert_true(put(segment, 7));
	assert_false(put(segment, 8));
	segment_free(segment);
	segment = make(0);
	assert_null(segment->bytes);
	segment_free(segment);
	segment_free(NULL);
}

static void no_two_have_the_same_identity(void **state)
{
	struct segment *one = make(1), *other = make(1);

	(void)state;
	assert_memory_not_equal(one->random, other->random, sizeof(one->random));
	segment_free(one);
	segment_free(other);
}

/* [EventTime, {"schema": 1, "kind": "x"}]: as each of ours begins. */
static const uint8_t whole[] = "\x92\xd7\0\0\0\0\1\0\0\0\2\x82\xa6schema\1\xa4kind\xa1x";

enum {
	WHOLE = sizeof(whole) - 1,
	DAMAGE = 5,
};

/* What is lost is in front of the first, between two, behind the last, or torn. */
static void what_is_whole_is_moved_to_the_front(void **state)
{
	static const struct {
		size_t front, middle, end; /* bytes of damage */
		size_t torn; /* bytes of an entry, at the end */
	} cases[] = {
		{ 0, 0, 0, 0 },	     { DAMAGE, 0, 0, 0 },    { 0, DAMAGE, 0, 0 },
		{ 0, 0, DAMAGE, 0 }, { 0, 0, 0, WHOLE - 1 }, { DAMAGE, DAMAGE, DAMAGE, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[4 * WHOLE] = { 0 };
		struct segment segment = { .entries = 99, .size_bytes = 99 };
		struct segment_salvage salvage;
		size_t at = cases[i].front, end;

		memcpy(bytes + at, whole, WHOLE);
		at += WHOLE + cases[i].middle;
		memcpy(bytes + at, whole, WHOLE);
		end = at + WHOLE;
		at = end + cases[i].end;
		memcpy(bytes + at, whole, cases[i].torn);
		at += cases[i].torn;
		salvage = segment_salvage(&segment, false, bytes, at);
		assert_int_equal(salvage.end_bytes, end);
		assert_int_equal(salvage.lost_bytes, at - 2 * WHOLE);
		assert_int_equal(segment.entries, 2);
		assert_int_equal(segment.size_bytes, 2 * WHOLE);
		assert_int_equal(segment.first_ns, UINT64_C(1000000002));
		assert_memory_equal(bytes, whole, WHOLE);
		assert_memory_equal(bytes + WHOLE, whole, WHOLE);
	}
}

/* Or another thread that sends it would see it change. */
static void where_nothing_is_damaged_nothing_is_written(void **state)
{
	static const uint8_t twice[] = "\x92\xd7\0\0\0\0\1\0\0\0\2\x82\xa6schema\1\xa4kind\xa1x"
				       "\x92\xd7\0\0\0\0\1\0\0\0\3\x82\xa6schema\1\xa4kind\xa1x";
	struct segment segment = { 0 };

	(void)state;
	/* In memory that cannot be written to. */
	assert_int_equal(
		segment_salvage(&segment, false, (uint8_t *)twice, sizeof(twice) - 1).end_bytes,
		2 * WHOLE);
	assert_int_equal(segment.entries, 2);
	assert_int_equal(segment.first_ns, UINT64_C(1000000002));
	assert_int_equal(segment.last_ns, UINT64_C(1000000003));
}

static void whole_entries_are_counted_up_to_a_torn_one(void **state)
{
	struct numbered_entry entries[] = { number_entry(3), number_entry(4), number_entry(5) };

	(void)state;
	for (size_t size = 0; size <= sizeof(entries); size++) {
		struct segment segment = { .entries = 99, .size_bytes = 99 };

		segment_count(&segment, (const uint8_t *)entries, size);
		assert_int_equal(segment.entries, size / ENTRY);
		assert_int_equal(segment.size_bytes, size / ENTRY * ENTRY);
		if (segment.entries) {
			assert_int_equal(segment.first_ns, numbered_time_ns(3));
			assert_int_equal(segment.last_ns, numbered_time_ns(2 + segment.entries));
		}
	}
}

static struct segment *add(struct segment_queue *queue, size_t capacity_bytes, uint64_t count)
{
	struct segment *segment = make(capacity_bytes);

	for (uint64_t i = 0; i < count; i++)
		assert_true(put(segment, i));
	segment_queue_add(queue, segment);
	return segment;
}

/* Through all that may become of a segment. */
static void memory_is_what_they_have_room_for(void **state)
{
	struct segment_queue queue = { 0 };
	struct segment *one = add(&queue, 10 * ENTRY, 3), *two = add(&queue, 5 * ENTRY, 2);
	struct backlog_status status;
	uint8_t *bytes;

	(void)state;
	assert_int_equal(queue.memory_bytes, 15 * ENTRY);
	assert_ptr_equal(segment_queue_find_open(&queue), two);
	segment_queue_seal(&queue, one);
	assert_true(one->is_sealed);
	assert_int_equal(queue.memory_bytes, (3 + 5) * ENTRY);
	/* Who reads there may not lose what he reads from. */
	two->is_busy = true;
	bytes = two->bytes;
	segment_queue_seal(&queue, two);
	assert_ptr_equal(two->bytes, bytes);
	assert_int_equal(queue.memory_bytes, (3 + 5) * ENTRY);
	assert_null(segment_queue_find_open(&queue));
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
	assert_null(segment_queue_find_open(&queue));
	segment_free(one);
	segment_free(two);
}

static void the_next_is_the_oldest_that_is_not_put_off(void **state)
{
	struct segment_queue queue = { 0 };
	struct segment *one = add(&queue, ENTRY, 1), *two = add(&queue, ENTRY, 1);

	(void)state;
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
	segment_free(one);
	segment_free(two);
}

static void a_gap_is_from_the_first_to_the_last_of_what_is_lost(void **state)
{
	struct segment_queue queue = { 0 };
	struct segment segment = { .first_ns = 50, .last_ns = 60 };

	(void)state;
	segment_queue_count_lost(&queue, &segment, 3, true, "one");
	assert_int_equal(queue.gap.first_ns, 50);
	assert_int_equal(queue.gap.last_ns, 60);
	segment = (struct segment){ .first_ns = 40, .last_ns = 55 };
	segment_queue_count_lost(&queue, &segment, 4, false, "other");
	assert_int_equal(queue.gap.first_ns, 40);
	assert_int_equal(queue.gap.last_ns, 60);
	segment_queue_count_gap(&queue, &(struct gap){ 1, 0, 70, 70, "third" });
	assert_int_equal(queue.gap.first_ns, 40);
	assert_int_equal(queue.gap.last_ns, 70);
	assert_int_equal(queue.gap.dropped_records, 8);
	assert_int_equal(queue.gap.dropped_segments, 1);
	assert_string_equal(queue.gap.reason, "third");
	assert_int_equal(queue.totals.dropped_records, 8);
	assert_int_equal(queue.totals.dropped_segments, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_takes_what_there_is_room_for),
		cmocka_unit_test(no_two_have_the_same_identity),
		cmocka_unit_test(what_is_whole_is_moved_to_the_front),
		cmocka_unit_test(where_nothing_is_damaged_nothing_is_written),
		cmocka_unit_test(whole_entries_are_counted_up_to_a_torn_one),
		cmocka_unit_test(memory_is_what_they_have_room_for),
		cmocka_unit_test(the_next_is_the_oldest_that_is_not_put_off),
		cmocka_unit_test(a_gap_is_from_the_first_to_the_last_of_what_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
