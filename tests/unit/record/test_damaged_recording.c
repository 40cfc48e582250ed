/* SPDX-License-Identifier: GPL-2.0-only */
/* Recordings with damage in the middle: each record that was not touched is read all the same. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/log.h"
#include "record/entry_scan.h"
#include "record/golden.h"
#include "record/record_reader.h"

enum {
	RECORDS_MAX = 8192,
	ID_BYTES = 64,
	COPIES = 60, /* several times what is read at once */
	ROUNDS = 100,
	BEHIND = 3, /* records behind a damaged one: where it could spread to */
};

/* A recording as it should be, and what a test made of it. */
struct sample_file {
	uint8_t *bytes;
	size_t size_bytes;
	size_t ends[RECORDS_MAX]; /* offsets of the whole records' ends */
	char ids[RECORDS_MAX][ID_BYTES];
	size_t count;
};

static struct {
	char ids[RECORDS_MAX][ID_BYTES];
	size_t count;
	uint64_t places;
	uint64_t bytes;
	bool is_truncated;
	int error;
} got;

static char path[64];
static struct record_view view;
static struct sample_file one, many;
static uint64_t random_state = 88172645463325252ull;

/* xorshift64: the same damage on every run. */
static uint64_t random_number(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % limit;
}

static void copy_id(char ret_id[static ID_BYTES])
{
	struct record_text text = { 0 };

	(void)record_view_text(&view, "record_id", &text);
	(void)snprintf(ret_id, ID_BYTES, "%.*s", (int)text.size_bytes, text.bytes);
}

static void read_damaged(const uint8_t *bytes, size_t size_bytes)
{
	struct record_reader *reader = NULL;
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size_bytes), size_bytes);
	assert_int_equal(close(fd), 0);
	assert_int_equal(record_reader_open(path, &reader), 0);
	got.count = 0;
	while ((got.error = record_reader_next(reader, &view)) > 0) {
		assert_true(got.count < RECORDS_MAX);
		copy_id(got.ids[got.count++]);
	}
	assert_int_equal(record_reader_entry_count(reader), got.count);
	got.is_truncated = record_reader_is_truncated(reader);
	record_reader_get_damage(reader, &got.places, &got.bytes);
	record_reader_free(reader);
}

static void make_sample(struct sample_file *file, size_t copies)
{
	size_t golden_bytes, entry_bytes;
	char *golden = golden_read("shop.rec", &golden_bytes);

	file->size_bytes = copies * golden_bytes;
	file->bytes = malloc(file->size_bytes);
	assert_non_null(file->bytes);
	for (size_t i = 0; i < copies; i++)
		memcpy(file->bytes + i * golden_bytes, golden, golden_bytes);
	free(golden);
	for (size_t end = 0; end < file->size_bytes; file->count++) {
		assert_int_equal(
			entry_scan(file->bytes + end, file->size_bytes - end, &entry_bytes), 0);
		assert_int_equal(record_view_decode(file->bytes + end, entry_bytes, &view), 0);
		copy_id(file->ids[file->count]);
		file->ends[file->count] = end += entry_bytes;
	}
}

static int setup(void **state)
{
	int fd = memfd_create("recording", 0);

	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	make_sample(&one, 1);
	make_sample(&many, COPIES);
	return fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	free(one.bytes);
	free(many.bytes);
	return 0;
}

static uint8_t *copy_of(const struct sample_file *file, size_t spare_bytes)
{
	uint8_t *copy = malloc(file->size_bytes + spare_bytes);

	assert_non_null(copy);
	memcpy(copy, file->bytes, file->size_bytes);
	return copy;
}

static size_t begin_of(const struct sample_file *file, size_t record)
{
	return record ? file->ends[record - 1] : 0;
}

/* The records that is_touched does not mark were read, in their order; others may be between them.
 */
static void expect_untouched(const struct sample_file *file, const bool *is_touched)
{
	size_t next = 0;

	assert_int_equal(got.error, 0);
	for (size_t i = 0; i < file->count; i++) {
		if (is_touched[i])
			continue;
		while (next < got.count && strcmp(got.ids[next], file->ids[i]) != 0)
			next++;
		if (next == got.count)
			fail_msg("record %zu of %zu (%s) is missing", i, file->count, file->ids[i]);
		next++;
	}
}

static void touch(const struct sample_file *file, bool *is_touched, size_t from, size_t to)
{
	for (size_t i = 0; i < file->count; i++)
		is_touched[i] |= from < file->ends[i] && to > begin_of(file, i);
}

TEST(reader_loses_only_record_with_changed_byte)
{
	static const uint8_t masks[] = { 0x01, 0x10, 0x80, 0xff };
	uint8_t *copy = copy_of(&one, 0);

	for (size_t i = 0; i < one.size_bytes; i++) {
		size_t record = 0, first, count;

		while (one.ends[record] <= i)
			record++;
		first = record ? record - 1 : 0;
		count = (record + BEHIND < one.count ? record + BEHIND : one.count) - first;
		for (size_t mask = 0; mask < sizeof(masks); mask++) {
			copy[i] ^= masks[mask];
			read_damaged(copy + begin_of(&one, first),
				     one.ends[first + count - 1] - begin_of(&one, first));
			copy[i] = one.bytes[i];
			assert_int_equal(got.error, 0);
			/* It stands there with another content, or not at all. */
			assert_true(got.count == count || (got.count == count - 1 &&
							   (got.places == 1 || got.is_truncated)));
			if (first < record)
				assert_string_equal(got.ids[0], one.ids[first]);
			for (size_t j = record + 1; j < first + count; j++)
				assert_string_equal(got.ids[got.count - count + j - first],
						    one.ids[j]);
		}
	}
	free(copy);
}

TEST(reader_skips_records_with_random_byte_changes)
{
	for (int round = 0; round < ROUNDS; round++) {
		uint8_t *copy = copy_of(&many, 0);
		bool is_touched[RECORDS_MAX] = { false };

		for (uint64_t flips = 1 + random_number(60); flips; flips--) {
			size_t at = random_number(many.size_bytes);

			copy[at] = (uint8_t)random_number(256);
			touch(&many, is_touched, at, at + 1);
		}
		read_damaged(copy, many.size_bytes);
		expect_untouched(&many, is_touched);
		free(copy);
	}
}

TEST(reader_recovers_after_zeroed_or_missing_range)
{
	for (int round = 0; round < 2 * ROUNDS; round++) {
		uint8_t *copy = copy_of(&many, 0);
		bool is_touched[RECORDS_MAX] = { false };
		size_t from = random_number(many.size_bytes);
		size_t to = from + 1 + random_number(round % 3 ? 4096 : many.size_bytes - from);

		if (to > many.size_bytes)
			to = many.size_bytes;
		touch(&many, is_touched, from, to);
		if (round % 2) {
			memset(copy + from, 0, to - from);
			read_damaged(copy, many.size_bytes);
		} else {
			memmove(copy + from, copy + to, many.size_bytes - to);
			read_damaged(copy, many.size_bytes - (to - from));
		}
		if (got.count || !is_touched[0])
			expect_untouched(&many, is_touched);
		free(copy);
	}
}

TEST(reader_recovers_after_garbage_between_and_inside_records)
{
	enum {
		GARBAGE_BYTES = 5000
	};

	for (int round = 0; round < ROUNDS; round++) {
		uint8_t *copy = copy_of(&many, GARBAGE_BYTES);
		size_t garbage_bytes = 1 + random_number(GARBAGE_BYTES);
		bool is_touched[RECORDS_MAX] = { false }, is_between = round % 2;
		size_t record = random_number(many.count);
		size_t at = is_between ? begin_of(&many, record) : random_number(many.size_bytes);

		memmove(copy + at + garbage_bytes, copy + at, many.size_bytes - at);
		for (size_t i = 0; i < garbage_bytes; i++)
			copy[at + i] = (uint8_t)random_number(256);
		/* Or it could be the beginning of a record. */
		copy[at] = 0;
		if (!is_between)
			touch(&many, is_touched, at, at + 1);
		read_damaged(copy, many.size_bytes + garbage_bytes);
		expect_untouched(&many, is_touched);
		if (is_between) {
			assert_int_equal(got.places, 1);
			assert_int_equal(got.bytes, garbage_bytes);
		}
		free(copy);
	}
}

TEST(reader_counts_damaged_places_and_bytes_exactly)
{
	uint8_t *copy = copy_of(&one, 16);

	read_damaged(copy, one.size_bytes);
	assert_int_equal(got.places, 0);
	assert_int_equal(got.bytes, 0);
	/* The first record, two in the middle as one stretch, and what follows the last. */
	memset(copy, 'x', one.ends[0]);
	memset(copy + begin_of(&one, 5), 0xff, one.ends[6] - begin_of(&one, 5));
	memset(copy + one.size_bytes, 'x', 16);
	read_damaged(copy, one.size_bytes + 16);
	assert_int_equal(got.error, 0);
	assert_int_equal(got.count, one.count - 3);
	assert_int_equal(got.places, 3);
	assert_int_equal(got.bytes, one.ends[0] + one.ends[6] - begin_of(&one, 5) + 16);
	assert_false(got.is_truncated);
	free(copy);
}

TEST(reader_accepts_concatenated_recordings)
{
	read_damaged(many.bytes, many.size_bytes);
	assert_int_equal(got.error, 0);
	assert_int_equal(got.count, COPIES * GOLDEN_RECORDS);
	assert_int_equal(got.places, 0);
	/* The first of them was cut off: its recorder was killed. */
	read_damaged(many.bytes + 5, many.size_bytes - 5);
	assert_int_equal(got.count, COPIES * GOLDEN_RECORDS - 1);
	assert_int_equal(got.bytes, many.ends[0] - 5);
}

TEST(reader_rejects_file_of_another_format)
{
	size_t size_bytes = 100000;
	uint8_t *bytes = malloc(size_bytes);

	assert_non_null(bytes);
	for (size_t i = 0; i < size_bytes; i++)
		bytes[i] = (uint8_t)random_number(256);
	bytes[0] = 0;
	read_damaged(bytes, size_bytes);
	assert_int_equal(got.error, -EBADMSG);
	free(bytes);
}

/* Each seems to begin a record of 128 fields, and all the others are texts in it. */
TEST(reader_skips_false_heads_in_linear_time)
{
	static const char head[] = "\x92\xd7\x00\x65\x53\xf1\x01\x00\x00\x00\x00\xde\x07\xff"
				   "\xa6schema\x01\xa4kind\xa1x\xa1x\xd9\x1f";
	size_t head_bytes = sizeof(head) - 1, size_bytes = (size_t)16 << 20;
	uint8_t *bytes = malloc(size_bytes);

	assert_non_null(bytes);
	memcpy(bytes, one.bytes, one.size_bytes);
	for (size_t i = one.size_bytes; i < size_bytes; i++)
		bytes[i] = (uint8_t)head[(i - one.size_bytes) % head_bytes];
	read_damaged(bytes, size_bytes);
	assert_int_equal(got.error, 0);
	assert_int_equal(got.count, one.count);
	assert_int_equal(got.places, 1);
	free(bytes);
}

TEST_GROUP(setup, teardown)
