/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/otel_record.h>

#include <string.h>

#include "unit_test.h"

struct walk {
	uint8_t attributes[OTEL_ATTRIBUTES_ROOM];
	uint32_t size_bytes;
	uint8_t key_of_index[OTEL_INDEXES];
	uint32_t known_indexes;
	uint16_t offsets[OTEL_OFFSET_SLOTS];
};

static void put(struct walk *walk, uint8_t index, uint8_t length, uint8_t fill)
{
	walk->attributes[walk->size_bytes++] = index;
	walk->attributes[walk->size_bytes++] = length;
	memset(walk->attributes + walk->size_bytes, fill, length);
	walk->size_bytes += length;
}

static uint32_t run(struct walk *walk)
{
	memset(walk->offsets, 0xff, sizeof(walk->offsets));
	return otel_record_walk(walk->attributes, walk->size_bytes, walk->key_of_index,
				walk->known_indexes, walk->offsets);
}

TEST(otel_record_walk_finds_wanted_attributes)
{
	struct walk walk = { .known_indexes = 3, .key_of_index = { [0] = 2, [2] = KEYS_MAX } };

	put(&walk, 0, 3, 'a');
	put(&walk, 1, 0, 0);
	put(&walk, 2, 5, 'b');
	assert_int_equal(run(&walk), 0);
	assert_int_equal(walk.offsets[1], 0);
	assert_int_equal(walk.offsets[2], 1);
	assert_int_equal(walk.offsets[KEYS_MAX], 1 + 5 + 2);
}

TEST(otel_record_pointer_must_be_even_user_address)
{
	assert_false(otel_record_pointer_is_sane(4094));
	assert_true(otel_record_pointer_is_sane(4096));
	assert_false(otel_record_pointer_is_sane(4097));
	assert_true(otel_record_pointer_is_sane((1ULL << 56) - 2));
	assert_false(otel_record_pointer_is_sane(1ULL << 56));
}

TEST(otel_record_walk_uses_last_occurrence)
{
	struct walk walk = { .known_indexes = 1, .key_of_index = { [0] = 1 } };

	put(&walk, 0, 3, 'a');
	put(&walk, 0, 3, 'b');
	assert_int_equal(run(&walk), 0);
	assert_int_equal(walk.offsets[1], 1 + 5);
}

TEST(otel_record_walk_ends_at_truncated_entry)
{
	struct walk walk = { .known_indexes = 1, .key_of_index = { [0] = 1 } };

	put(&walk, 0, 3, 'a');
	put(&walk, 0, 9, 'b');
	walk.size_bytes--;
	assert_int_equal(run(&walk), OTEL_WALK_CUT);
	assert_int_equal(walk.offsets[1], 1);
	/* Half a header. */
	walk.size_bytes = 6;
	assert_int_equal(run(&walk), OTEL_WALK_CUT);
	assert_int_equal(walk.offsets[1], 1);
}

TEST(otel_record_walk_reports_unknown_index)
{
	struct walk walk = { .known_indexes = 1, .key_of_index = { [0] = 1 } };

	put(&walk, 1, 1, 'x');
	put(&walk, 0, 1, 'a');
	assert_int_equal(run(&walk), OTEL_WALK_UNKNOWN);
	assert_int_equal(walk.offsets[1], 1 + 3);
}

TEST(otel_record_walk_reads_longest_record_to_its_end)
{
	struct walk walk = { .known_indexes = 256, .key_of_index = { [7] = 1, [8] = 2 } };

	while (walk.size_bytes < OTEL_ATTRIBUTES_BYTES_MAX - OTEL_ATTRIBUTE_HEADER_BYTES)
		put(&walk, 1, 8, 0);
	walk.size_bytes = OTEL_ATTRIBUTES_BYTES_MAX - OTEL_ATTRIBUTE_HEADER_BYTES;
	put(&walk, 7, 0, 0);
	assert_int_equal(walk.size_bytes, OTEL_ATTRIBUTES_BYTES_MAX);
	assert_int_equal(run(&walk), 0);
	assert_int_equal(walk.offsets[1], 1 + OTEL_ATTRIBUTES_BYTES_MAX - 2);
	/* What lies behind the longest one is not read. */
	put(&walk, 8, 0, 0);
	walk.size_bytes = UINT16_MAX;
	assert_int_equal(run(&walk), OTEL_WALK_CUT);
	assert_int_equal(walk.offsets[1], 1 + OTEL_ATTRIBUTES_BYTES_MAX - 2);
	assert_int_equal(walk.offsets[2], 0);
}

TEST(otel_record_walk_limits_number_of_entries)
{
	struct walk walk = { .known_indexes = 256, .key_of_index = { [7] = 1, [8] = 2 } };

	for (unsigned int i = 0; i < OTEL_ATTRIBUTES_MAX - 1; i++)
		put(&walk, 1, 0, 0);
	put(&walk, 7, 0, 0);
	assert_int_equal(run(&walk), 0);
	put(&walk, 8, 0, 0);
	assert_int_equal(run(&walk), OTEL_WALK_CUT);
	assert_int_equal(walk.offsets[1], 1 + 2 * (OTEL_ATTRIBUTES_MAX - 1));
	assert_int_equal(walk.offsets[2], 0);
}

TEST(otel_record_walk_of_noise_stays_in_bounds)
{
	struct walk walk = { .known_indexes = 256 };
	uint32_t noise = 54321;

	for (unsigned int round = 0; round < 20000; round++) {
		for (size_t i = 0; i < 16; i++) {
			noise = noise * 1664525 + 1013904223;
			walk.attributes[(noise >> 8) % OTEL_ATTRIBUTES_ROOM] = noise >> 26;
			walk.key_of_index[noise >> 24] = (uint8_t)(noise >> 16);
		}
		walk.size_bytes = noise & 0xffff;
		(void)run(&walk);
		for (size_t slot = 0; slot < OTEL_OFFSET_SLOTS; slot++) {
			size_t at = walk.offsets[slot];

			assert_true(!at ||
				    at - 1 + 2 + walk.attributes[at] <= OTEL_ATTRIBUTES_BYTES_MAX);
		}
	}
}
