/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>

#include <msgpack.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "record/entry_scan.h"
#include "record/golden.h"
#include "record/library_view.h"

#define HEAD "\x92\xd7\x00\x65\x53\xf1\x01\x00\x00\x00\x00"

static int scan(const char *bytes, size_t size_bytes)
{
	size_t entry_bytes = 0;
	int r = entry_scan((const uint8_t *)bytes, size_bytes, &entry_bytes);

	if (r == 0)
		assert_int_equal(entry_bytes, size_bytes);
	return r;
}

#define SCAN(text) scan(text, sizeof(text) - 1)

TEST(entry_scan_ends_at_end_of_map)
{
	assert_int_equal(SCAN(HEAD "\x80"), 0);
	assert_int_equal(SCAN(HEAD "\x82\xa1k\xc0\xa1l\x92\x01\xcd\x01\x02"), 0);
	assert_int_equal(SCAN(HEAD "\xde\x00\x01\xa1k\xcb\x00\x00\x00\x00\x00\x00\x00\x00"), 0);
	assert_int_equal(SCAN(HEAD "\x81\xa1k\xd9\x02hi"), 0);
	assert_int_equal(SCAN(HEAD "\x81\xa1k\xc7\x02\x05hi"), 0);
}

TEST(entry_scan_requests_more_for_each_prefix)
{
	size_t file_bytes, entry_bytes = 0;
	char *file = golden_read("shop.rec", &file_bytes);

	assert_int_equal(entry_scan((const uint8_t *)file, file_bytes, &entry_bytes), 0);
	for (size_t size_bytes = 1; size_bytes < entry_bytes; size_bytes++) {
		/* A copy of just these bytes, so that the sanitizer sees a read beyond them. */
		char *prefix = malloc(size_bytes);

		assert_non_null(prefix);
		memcpy(prefix, file, size_bytes);
		assert_int_equal(scan(prefix, size_bytes), -EAGAIN);
		free(prefix);
	}
	free(file);
}

#define NAMES "\xa6schema\x01\xa4kind"

/* Of a copy of just these bytes. */
static size_t reach(const char *bytes, size_t size_bytes)
{
	_cleanup_free_ char *copy = malloc(size_bytes);

	assert_non_null(copy);
	memcpy(copy, bytes, size_bytes);
	return entry_reach((const uint8_t *)copy, size_bytes);
}

/* The map's mark and its first name may come with the next bytes, however long the mark is. */
TEST(entry_reach_ends_at_possible_next_start)
{
	static const struct {
		const char *mark;
		size_t mark_bytes;
	} marks[] = { { "\x82", 1 }, { "\xde\0\x82", 3 }, { "\xdf\0\0\0\x82", 5 } };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		char bytes[64] = "x" HEAD;
		size_t size_bytes = sizeof("x" HEAD) - 1 + marks[i].mark_bytes;

		memcpy(bytes + sizeof("x" HEAD) - 1, marks[i].mark, marks[i].mark_bytes);
		memcpy(bytes + size_bytes, NAMES, sizeof(NAMES) - 1);
		for (size_bytes += sizeof(NAMES) - 1; size_bytes > 1; size_bytes--)
			assert_int_equal(reach(bytes, size_bytes), 1);
	}
	assert_int_equal(reach("x" HEAD "\x82\xa7", sizeof("x" HEAD) + 1), sizeof("x" HEAD) + 1);
}

TEST(entry_search_rejects_overlap_only_with_complete_next_start)
{
	static const char bytes[] = HEAD "\x81\xa1k\xd9\x40" HEAD "\x82" NAMES;
	const size_t size_bytes = sizeof(bytes) - 1, start = sizeof(HEAD "\x81\xa1k\xd9\x40") - 1;
	size_t found_bytes = 0;

	assert_int_equal(entry_search((const uint8_t *)bytes, size_bytes - 1, false, &found_bytes),
			 -EAGAIN);
	assert_int_equal(entry_search((const uint8_t *)bytes, size_bytes, false, &found_bytes),
			 -EBADMSG);
	assert_int_equal(found_bytes, start);
}

TEST(entry_scan_rejects_non_entry_immediately)
{
	assert_int_equal(SCAN("h"), -EBADMSG);
	assert_int_equal(SCAN("\x92\xce\x65"), -EBADMSG);
	assert_int_equal(SCAN("\x92\xd7\x01"), -EBADMSG);
	assert_int_equal(SCAN(HEAD "\x90"), -EBADMSG);
	assert_int_equal(SCAN(HEAD "\x81\xa1k\xc1"), -EBADMSG);
}

TEST(entry_scan_rejects_declared_size_over_limit_from_head)
{
	assert_int_equal(SCAN(HEAD "\x81\xa1k\xdb\x00\x20\x00\x00"), -E2BIG);
	assert_int_equal(SCAN(HEAD "\x81\xa1k\xdb\xff\xff\xff\xff"), -E2BIG);
	assert_int_equal(SCAN(HEAD "\xdf\xff\xff\xff\xff"), -E2BIG);
	assert_int_equal(SCAN(HEAD "\x81\xa1k\xdd\x00\x01\x00\x00"), -E2BIG);
}

TEST(entry_scan_rejects_nesting_over_limit)
{
	assert_int_equal(SCAN(HEAD "\x81\xa1k\x91\x91\x01"), 0);
	assert_int_equal(SCAN(HEAD "\x81\xa1k\x91\x91\x91\x01"), -ELOOP);
}

/* Damaged entries: what is decoded is what the scan accepts, and says what the library says. */
TEST(entry_scan_agrees_with_decoder_and_library_on_damage)
{
	const unsigned int seed = 20240229;
	static struct record_view view;
	size_t file_bytes, accepted = 0, decoded = 0;
	char *file = golden_read("shop.rec", &file_bytes);

	srandom(seed);
	for (int round = 0; round < 20000; round++) {
		size_t size_bytes = 1 + (size_t)random() % file_bytes, entry_bytes = 0;
		size_t near_bytes = size_bytes < ENTRY_NEAR_BYTES ? size_bytes : ENTRY_NEAR_BYTES;
		bool is_entry;
		int64_t pid = 0;
		uint8_t *copy = malloc(size_bytes);

		assert_non_null(copy);
		memcpy(copy, file, size_bytes);
		for (long i = random() % 4; i >= 0; i--)
			copy[(size_t)random() % size_bytes] = (uint8_t)random();
		is_entry = entry_scan(copy, size_bytes, &entry_bytes) == 0;
		if (is_entry)
			assert_in_range(entry_bytes, 12, size_bytes);
		accepted += is_entry;
		if (record_view_decode(copy, near_bytes, &view) == 0) {
			assert_true(is_entry);
			assert_int_equal(view.entry_bytes, entry_bytes);
			assert_true(is_view_of_library(&view, copy));
			assert_true(record_view_count_at(&view, RECORD_PLACE(common, pid), &pid));
			if (entry_pid(copy, entry_bytes))
				assert_int_equal(entry_pid(copy, entry_bytes), (uint32_t)pid);
			decoded++;
		}
		free(copy);
	}
	print_message("seed %u: %zu accepted, %zu decoded\n", seed, accepted, decoded);
	assert_true(accepted > 1000 && decoded > 1000);
	free(file);
}

static const struct value_limits limits = { .bytes_max = 64, .depth_max = 2, .values_max = 8 };

/* Of a copy of exactly that size, so that the sanitizer sees a read beyond it. */
static int scan_value(const void *bytes, size_t size_bytes, size_t *ret_value_bytes)
{
	uint8_t *copy = malloc(size_bytes + 1);
	int r;

	assert_non_null(copy);
	memcpy(copy + 1, bytes, size_bytes);
	r = value_scan(copy + 1, size_bytes, &limits, ret_value_bytes);
	free(copy);
	return r;
}

TEST(value_scan_ends_after_last_nested_value)
{
	static const char value[] = "\x82\xa3"
				    "ack\xa2no\xa1x\x92\xc0\xcd\x01\x02rest";
	size_t expected = sizeof(value) - 1 - strlen("rest"), found = 0;

	for (size_t size = 0; size < expected; size++)
		assert_int_equal(scan_value(value, size, &found), -EAGAIN);
	assert_int_equal(found, 0);
	for (size_t size = expected; size < sizeof(value); size++) {
		assert_int_equal(scan_value(value, size, &found), 0);
		assert_int_equal(found, expected);
	}
}

TEST(value_scan_rejects_declared_size_over_limit_from_head)
{
	size_t found = 0;

	assert_int_equal(scan_value("\xdd\xff\xff\xff\xff", 5, &found), -E2BIG);
	assert_int_equal(scan_value("\xdf\xff\xff\xff\xff", 5, &found), -E2BIG);
	assert_int_equal(scan_value("\xdb\xff\xff\xff\xff", 5, &found), -E2BIG);
	assert_int_equal(scan_value("\xc6\xff\xff\xff\xff", 5, &found), -E2BIG);
	assert_int_equal(scan_value("\x99", 1, &found), -E2BIG);
	assert_int_equal(scan_value("\x91\x91\x91\xc0", 4, &found), -ELOOP);
	assert_int_equal(scan_value("\x91\x91\xc0", 3, &found), 0);
	assert_int_equal(scan_value("\xc1", 1, &found), -EBADMSG);
}

/* What a test packs: a value alone. */
struct packed {
	msgpack_sbuffer buffer;
	msgpack_packer packer;
};

static void begin_value(struct packed *value)
{
	msgpack_sbuffer_init(&value->buffer);
	msgpack_packer_init(&value->packer, &value->buffer, msgpack_sbuffer_write);
}

static int scan_packed(const struct packed *value, size_t size_bytes,
		       const struct value_limits *bounds, size_t *ret_bytes)
{
	/* A copy of just these bytes, so that the sanitizer sees a read beyond them. */
	char *copy = malloc(size_bytes + 1);
	int r;

	assert_non_null(copy);
	memcpy(copy + 1, value->buffer.data, size_bytes);
	r = value_scan((const uint8_t *)copy + 1, size_bytes, bounds, ret_bytes);
	free(copy);
	return r;
}

/* It ends where it ends: no byte before, and no byte is too many. */
static void end_value(struct packed *value, size_t inner_count)
{
	const size_t size_bytes = value->buffer.size;
	struct value_limits bounds = { size_bytes, VALUE_DEPTH_MAX, inner_count };
	size_t found_bytes = 0;

	assert_int_equal(scan_packed(value, size_bytes, &bounds, &found_bytes), 0);
	assert_int_equal(found_bytes, size_bytes);
	for (size_t cut = 0; cut < size_bytes; cut += cut < 64 ? 1 : size_bytes / 50 + 1)
		assert_int_equal(scan_packed(value, cut, &bounds, &found_bytes), -EAGAIN);
	assert_int_equal(scan_packed(value, size_bytes - 1, &bounds, &found_bytes), -EAGAIN);
	bounds.bytes_max--;
	assert_int_equal(scan_packed(value, size_bytes, &bounds, &found_bytes), -E2BIG);
	msgpack_sbuffer_destroy(&value->buffer);
}

TEST(value_scan_number_end_matches_library)
{
	static const int64_t numbers[] = { 0,	   127,	      128,	  255,	     256,
					   65535,  65536,     UINT32_MAX, INT64_MAX, -1,
					   -32,	   -33,	      -128,	  -129,	     -32768,
					   -32769, INT32_MIN, INT64_MIN };
	struct packed value;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		begin_value(&value);
		msgpack_pack_int64(&value.packer, numbers[i]);
		end_value(&value, 0);
	}
	begin_value(&value);
	msgpack_pack_float(&value.packer, 1);
	end_value(&value, 0);
	begin_value(&value);
	msgpack_pack_double(&value.packer, 1);
	end_value(&value, 0);
	begin_value(&value);
	msgpack_pack_nil(&value.packer);
	end_value(&value, 0);
	begin_value(&value);
	msgpack_pack_false(&value.packer);
	end_value(&value, 0);
	begin_value(&value);
	msgpack_pack_true(&value.packer);
	end_value(&value, 0);
}

TEST(value_scan_text_end_matches_library)
{
	static const size_t sizes[] = { 0,  1,	2,  3,	4,   5,	  8,	 9,
					16, 17, 31, 32, 255, 256, 65535, 65536 };
	static const char bytes[65536];
	struct packed value;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		begin_value(&value);
		msgpack_pack_str_with_body(&value.packer, bytes, sizes[i]);
		end_value(&value, 0);
		begin_value(&value);
		msgpack_pack_bin_with_body(&value.packer, bytes, sizes[i]);
		end_value(&value, 0);
		begin_value(&value);
		msgpack_pack_ext_with_body(&value.packer, bytes, sizes[i], 5);
		end_value(&value, 0);
	}
}

TEST(value_scan_list_and_map_end_after_last_value)
{
	static const size_t counts[] = { 0, 1, 15, 16, 40000, 65535, 65536 };
	struct packed value;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		begin_value(&value);
		msgpack_pack_array(&value.packer, counts[i]);
		for (size_t item = 0; item < counts[i]; item++)
			msgpack_pack_nil(&value.packer);
		end_value(&value, counts[i]);
		begin_value(&value);
		msgpack_pack_map(&value.packer, counts[i] / 2);
		for (size_t item = 0; item < counts[i] / 2; item++) {
			msgpack_pack_nil(&value.packer);
			msgpack_pack_true(&value.packer);
		}
		end_value(&value, counts[i] / 2 * 2);
	}
}

/* [[[nil, nil], nil]] */
TEST(value_scan_accepts_values_and_depth_up_to_limits)
{
	const size_t outer = 1, middle = 2, inner = 2;
	struct value_limits bounds = { 100, 3, outer + middle + inner };
	struct packed value;
	size_t bytes;

	begin_value(&value);
	msgpack_pack_array(&value.packer, outer);
	msgpack_pack_array(&value.packer, middle);
	msgpack_pack_array(&value.packer, inner);
	for (size_t i = 0; i < inner + middle - 1; i++)
		msgpack_pack_nil(&value.packer);
	assert_int_equal(scan_packed(&value, value.buffer.size, &bounds, &bytes), 0);
	bounds.values_max--;
	assert_int_equal(scan_packed(&value, value.buffer.size, &bounds, &bytes), -E2BIG);
	bounds.values_max++;
	bounds.depth_max--;
	assert_int_equal(scan_packed(&value, value.buffer.size, &bounds, &bytes), -ELOOP);
	msgpack_sbuffer_destroy(&value.buffer);
	begin_value(&value);
	for (size_t i = 0; i < VALUE_DEPTH_MAX; i++)
		msgpack_pack_array(&value.packer, 1);
	msgpack_pack_nil(&value.packer);
	end_value(&value, VALUE_DEPTH_MAX);
}

TEST(entry_time_combines_seconds_and_nanoseconds)
{
	assert_int_equal(
		entry_time_ns((const uint8_t *)"\x92\xd7\0\x65\x53\xf1\x01\x07\x5b\xcd\x15"),
		UINT64_C(1700000001123456789));
}

static uint32_t pid_of(const char *bytes, size_t size_bytes)
{
	_cleanup_free_ uint8_t *copy = malloc(size_bytes);

	assert_int_equal(scan(bytes, size_bytes), 0);
	assert_non_null(copy);
	memcpy(copy, bytes, size_bytes);
	return entry_pid(copy, size_bytes);
}

#define PID_OF(text) pid_of(text, sizeof(text) - 1)

TEST(entry_pid_returns_number_of_pid_field)
{
	assert_int_equal(PID_OF(HEAD "\x82" NAMES "\xa3"
				     "cpu"),
			 0);
	assert_int_equal(PID_OF(HEAD "\x81\xa3pid\x07"), 7);
	assert_int_equal(PID_OF(HEAD "\x82\xa1x\xa3pid\xa3pid\xcd\x01\x02"), 0x102);
	assert_int_equal(PID_OF(HEAD "\xde\x00\x01\xa3pid\xce\x01\x02\x03\x04"), 0x1020304);
	assert_int_equal(PID_OF(HEAD "\x81\xa3pix\x07"), 0);
	assert_int_equal(PID_OF(HEAD "\x81\xa3pid\xa1p"), 0);
	assert_int_equal(PID_OF(HEAD "\x81\xa3pid\xff"), 0);
	assert_int_equal(PID_OF(HEAD "\x80"), 0);
	/* Behind what is no text and no number nobody looks, nor behind too many names. */
	assert_int_equal(PID_OF(HEAD "\x82\xa1x\xc0\xa3pid\x07"), 0);
	assert_int_equal(PID_OF(HEAD "\x88\x01\x01\x02\x02\x03\x03\x04\x04\x05\x05\x06\x06"
				     "\x07\x07\xa3pid\x08"),
			 8);
	assert_int_equal(PID_OF(HEAD "\x89\x01\x01\x02\x02\x03\x03\x04\x04\x05\x05\x06\x06"
				     "\x07\x07\x08\x08\xa3pid\x09"),
			 0);
}
