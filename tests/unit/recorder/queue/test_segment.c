/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "recorder/queue/numbered_entries.h"
#include "recorder/queue/segment.h"

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
	size_t part = 0;

	if (!segment_has_room(segment, ENTRY))
		return false;
	if (!segment->part_count)
		assert_int_equal(segment_add_part(segment, NULL, &part), 0);
	segment_put(segment, part, (const uint8_t *)&entry, ENTRY);
	return true;
}

TEST(segment_accepts_entries_up_to_its_capacity)
{
	struct segment *segment = make(2 * ENTRY);

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

TEST(segments_have_distinct_random_ids)
{
	struct segment *one = make(1), *other = make(1);

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
TEST(segment_salvage_moves_whole_entries_to_front)
{
	static const struct {
		size_t front, middle, end; /* bytes of damage */
		size_t torn; /* bytes of an entry, at the end */
	} cases[] = {
		{ 0, 0, 0, 0 },	     { DAMAGE, 0, 0, 0 },    { 0, DAMAGE, 0, 0 },
		{ 0, 0, DAMAGE, 0 }, { 0, 0, 0, WHOLE - 1 }, { DAMAGE, DAMAGE, DAMAGE, 1 },
	};

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
TEST(segment_salvage_writes_nothing_if_undamaged)
{
	static const uint8_t twice[] = "\x92\xd7\0\0\0\0\1\0\0\0\2\x82\xa6schema\1\xa4kind\xa1x"
				       "\x92\xd7\0\0\0\0\1\0\0\0\3\x82\xa6schema\1\xa4kind\xa1x";
	struct segment segment = { 0 };

	/* In memory that cannot be written to. */
	assert_int_equal(
		segment_salvage(&segment, false, (uint8_t *)twice, sizeof(twice) - 1).end_bytes,
		2 * WHOLE);
	assert_int_equal(segment.entries, 2);
	assert_int_equal(segment.first_ns, UINT64_C(1000000002));
	assert_int_equal(segment.last_ns, UINT64_C(1000000003));
}

TEST(segment_count_stops_at_torn_entry)
{
	struct numbered_entry entries[] = { number_entry(3), number_entry(4), number_entry(5) };

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
