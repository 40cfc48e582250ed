/* SPDX-License-Identifier: GPL-2.0-only */
/* A bit that changes in a recording with checks is found, wherever it is. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "base/clock.h"
#include "record/check.h"
#include "record/checked_entries.h"
#include "record/entry_scan.h"
#include "record/record_encode.h"

enum {
	SPANS = 3,
	RECORDS = 2, /* of each */
	BYTES_MAX = 8192,
};

static struct record_encoder *encoder;

static int set_up(void **state)
{
	(void)state;
	encoder = record_encoder_new();
	return encoder ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	record_encoder_free(encoder);
	return 0;
}

static void add_record(uint64_t number)
{
	const struct gap_record record = {
		.common = { .wall_ns = number * NS_PER_S, .record_id = "a:1", .host_name = "h" },
		.dropped_records = number,
		.reason = "disk full",
	};

	assert_int_equal(record_encode(encoder, &record), 0);
}

/* As a recorder writes it: a check of nothing, and then spans with theirs. */
static size_t make_recording(uint8_t ret_bytes[static BYTES_MAX])
{
	const uint8_t *bytes;
	size_t size_bytes;

	record_encoder_reset(encoder);
	for (uint64_t span = 0; span < SPANS; span++) {
		for (uint64_t i = 0; i < RECORDS; i++)
			add_record(1 + span * RECORDS + i);
		record_encoder_add_check(encoder);
		/* There is nothing more to check. */
		record_encoder_add_check(encoder);
	}
	bytes = record_encoder_bytes(encoder, &size_bytes);
	assert_true(CHECK_BYTES + size_bytes <= BYTES_MAX);
	check_write(NULL, 0, bytes, ret_bytes);
	memcpy(ret_bytes + CHECK_BYTES, bytes, size_bytes);
	return CHECK_BYTES + size_bytes;
}

/* The result of reading bytes to their end. */
struct outcome {
	unsigned int records, checks;
	size_t damaged_bytes, torn_bytes;
	uint64_t loose_bytes;
};

static struct outcome read_all(const uint8_t *bytes, size_t size_bytes)
{
	struct checked_entries entries = { 0 };
	struct outcome outcome = { 0 };
	size_t at = 0, part_bytes;
	int r;

	while (at < size_bytes) {
		size_t again_bytes = 0;

		r = checked_search(&entries, bytes + at, size_bytes - at, true, &part_bytes);
		if (r == -EAGAIN)
			break;
		assert_int_equal(
			checked_search(&entries, bytes + at, size_bytes - at, true, &again_bytes),
			r);
		assert_int_equal(again_bytes, part_bytes);
		assert_true(part_bytes > 0 && part_bytes <= size_bytes - at);
		outcome.records += r == 0;
		outcome.checks += r == CHECKED_CHECK;
		if (r < 0)
			outcome.damaged_bytes += part_bytes;
		checked_pass(&entries, part_bytes);
		at += part_bytes;
	}
	outcome.torn_bytes = size_bytes - at;
	outcome.loose_bytes = entries.loose_bytes;
	return outcome;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(checks_of_intact_recording_are_skipped_and_records_read)
{
	uint8_t bytes[BYTES_MAX];
	size_t size_bytes = make_recording(bytes);
	struct outcome outcome = read_all(bytes, size_bytes);

	assert_int_equal(record_encoder_count(encoder), SPANS * RECORDS);
	assert_int_equal(outcome.records, SPANS * RECORDS);
	assert_int_equal(outcome.checks, 1 + SPANS);
	assert_int_equal(outcome.damaged_bytes + outcome.torn_bytes, 0);
	assert_int_equal(outcome.loose_bytes, 0);
}

/* It is damage, or stands where no check covers it, which is told; no more than two spans go with
 * it, and what is read is what was written. */
FIXTURE_TEST(checks_detect_each_flipped_bit)
{
	uint8_t bytes[BYTES_MAX];
	size_t size_bytes = make_recording(bytes);
	size_t span_bytes = (size_bytes - CHECK_BYTES) / SPANS;

	for (size_t bit = 0; bit < 8 * size_bytes; bit++) {
		struct outcome outcome;

		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		outcome = read_all(bytes, size_bytes);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(outcome.damaged_bytes || outcome.torn_bytes || outcome.loose_bytes);
		assert_true(outcome.damaged_bytes <= 2 * span_bytes);
		assert_true(outcome.records >= (SPANS - 2) * RECORDS);
	}
}

/* Cut off anywhere: what has come whole is read, and with what no check covers that is told. */
FIXTURE_TEST(checks_report_unchecked_tail_of_truncated_recording)
{
	uint8_t bytes[BYTES_MAX];
	size_t size_bytes = make_recording(bytes);
	size_t span_bytes = (size_bytes - CHECK_BYTES) / SPANS;

	for (size_t cut_bytes = CHECK_BYTES; cut_bytes <= size_bytes; cut_bytes++) {
		size_t rest_bytes = (cut_bytes - CHECK_BYTES) % span_bytes;
		struct outcome outcome = read_all(bytes, cut_bytes);

		assert_int_equal(outcome.damaged_bytes, 0);
		assert_int_equal(outcome.torn_bytes + outcome.loose_bytes, rest_bytes);
		assert_true(outcome.records >= (cut_bytes - CHECK_BYTES) / span_bytes * RECORDS);
	}
}

/* One behind the other, as cat(1) does it: with checks, cut off, and without. */
FIXTURE_TEST(checks_accept_concatenated_recordings)
{
	uint8_t one[BYTES_MAX], all[4 * BYTES_MAX];
	size_t one_bytes = make_recording(one), all_bytes = 0;
	size_t first_bytes, bare_bytes;
	struct outcome outcome;

	record_encoder_reset(encoder);
	add_record(1);
	(void)record_encoder_bytes(encoder, &bare_bytes);
	memcpy(all, record_encoder_bytes(encoder, &bare_bytes), bare_bytes);
	all_bytes += bare_bytes;
	memcpy(all + all_bytes, one, one_bytes);
	all_bytes += one_bytes;
	/* Its first record, and no check behind it. */
	first_bytes = CHECK_BYTES + bare_bytes;
	memcpy(all + all_bytes, one, first_bytes);
	all_bytes += first_bytes;
	memcpy(all + all_bytes, one, one_bytes);
	all_bytes += one_bytes;
	outcome = read_all(all, all_bytes);
	assert_int_equal(outcome.records, 2 + 2 * SPANS * RECORDS);
	assert_int_equal(outcome.damaged_bytes + outcome.torn_bytes, 0);
	assert_int_equal(outcome.loose_bytes, bare_bytes);
}

/* As they come from a pipe: nothing is given before its check is there. */
FIXTURE_TEST(checks_withhold_records_until_verified)
{
	uint8_t bytes[BYTES_MAX];
	size_t size_bytes = make_recording(bytes), part_bytes;
	size_t span_bytes = (size_bytes - CHECK_BYTES) / SPANS;
	struct checked_entries entries = { 0 };

	assert_int_equal(checked_search(&entries, bytes, CHECK_BYTES - 1, false, &part_bytes),
			 -EAGAIN);
	assert_int_equal(checked_search(&entries, bytes, CHECK_BYTES, false, &part_bytes),
			 CHECKED_CHECK);
	checked_pass(&entries, part_bytes);
	for (size_t there_bytes = 0; there_bytes < span_bytes; there_bytes++)
		assert_int_equal(checked_search(&entries, bytes + CHECK_BYTES, there_bytes, false,
						&part_bytes),
				 -EAGAIN);
	assert_int_equal(
		checked_search(&entries, bytes + CHECK_BYTES, span_bytes, false, &part_bytes), 0);
	assert_int_equal(checked_reach(&entries), span_bytes);
}

/* Where no check comes for longer than any writer leaves, there are none any more. */
FIXTURE_TEST(checks_missing_past_span_limit_disable_checking)
{
	const size_t enough_bytes = 2 * (CHECK_SPAN_BYTES + ENTRY_BYTES_MAX);
	uint8_t bytes[BYTES_MAX], *all = malloc(enough_bytes + BYTES_MAX);
	size_t all_bytes, bare_bytes;
	unsigned int bare_records = 0;
	struct outcome outcome;

	assert_non_null(all);
	all_bytes = make_recording(bytes);
	memcpy(all, bytes, all_bytes);
	record_encoder_reset(encoder);
	add_record(1);
	while (all_bytes < enough_bytes) {
		const void *bare = record_encoder_bytes(encoder, &bare_bytes);

		memcpy(all + all_bytes, bare, bare_bytes);
		all_bytes += bare_bytes;
		bare_records++;
	}
	outcome = read_all(all, all_bytes);
	free(all);
	assert_int_equal(outcome.records, SPANS * RECORDS + bare_records);
	assert_int_equal(outcome.damaged_bytes, 0);
}

/* A writer of much has one for each CHECK_SPAN_BYTES, and one that forgets some has none of them.
 */
FIXTURE_TEST(encoder_adds_check_for_each_span)
{
	struct checked_entries entries = { .is_checked = true };
	size_t cut_bytes, size_bytes, part_bytes;
	const uint8_t *bytes;
	struct outcome outcome;

	do {
		add_record(1);
		bytes = record_encoder_bytes(encoder, &size_bytes);
	} while (size_bytes < 3 * CHECK_SPAN_BYTES);
	record_encoder_add_check(encoder);
	bytes = record_encoder_bytes(encoder, &size_bytes);
	assert_int_equal(checked_search(&entries, bytes, size_bytes, true, &part_bytes), 0);
	assert_true(checked_reach(&entries) < CHECK_SPAN_BYTES + 1024);
	/* In the middle of a span. */
	cut_bytes = part_bytes * (2 * CHECK_SPAN_BYTES / part_bytes);
	while (entry_scan(bytes + cut_bytes, size_bytes - cut_bytes, &part_bytes) < 0)
		cut_bytes++;
	record_encoder_cut(encoder, cut_bytes);
	add_record(2);
	record_encoder_add_check(encoder);
	bytes = record_encoder_bytes(encoder, &size_bytes);
	outcome = read_all(bytes, size_bytes);
	assert_int_equal(outcome.records, record_encoder_count(encoder));
}

static uint32_t crc_32c(const uint8_t *bytes, size_t size_bytes)
{
	uint32_t sum = UINT32_MAX;

	for (size_t bit = 0; bit < 8 * size_bytes; bit++) {
		uint32_t is_set = (sum ^ bytes[bit / 8] >> bit % 8) & 1;

		sum = sum >> 1 ^ (is_set ? 0x82f63b78 : 0);
	}
	return ~sum;
}

/* The same sum as other programs find. RFC 3720, B.4: that of 32 zeros. */
FIXTURE_TEST(check_sum_is_crc_32c)
{
	static const uint8_t entry[ENTRY_HEAD_BYTES] = { 0x92, 0xd7 };
	uint8_t bytes[32 + CHECK_BYTES];
	uint32_t sum;

	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(crc_32c(bytes, 32), 0x8a9136aa);
	check_write(bytes, 32, entry, bytes + 32);
	memcpy(&sum, bytes + sizeof(bytes) - sizeof(sum), sizeof(sum));
	assert_int_equal(be32toh(sum), crc_32c(bytes, sizeof(bytes) - sizeof(sum)));
	assert_true(check_holds(bytes + 32, 32));
	assert_false(check_holds(bytes + 32, 31));
	assert_int_equal(check_covered_bytes(bytes + 32), 32);
	assert_int_equal(check_find(bytes, sizeof(bytes)), 32);
	assert_int_equal(check_find(bytes, sizeof(bytes) - 1), sizeof(bytes) - 1);
	assert_true(check_is(bytes + 32, CHECK_BYTES));
	assert_false(check_is(bytes, CHECK_BYTES));
}
