/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/query/packing.h"
#include "record/sample.h"

static struct packing packing;
static struct packed packed;
static struct record_view view, again;
static struct sample sample;

static int teardown(void **state)
{
	(void)state;
	memory_never_fails();
	packing_deinit(&packing);
	free(packed.bytes);
	packed = (struct packed){ 0 };
	return 0;
}

static void decode(void)
{
	sample_decode(&sample, &view);
}

/* The text that the view borrows goes with the sample. */
static void put(uint64_t tag)
{
	decode();
	assert_int_equal(packing_put(&packing, &view, tag, &packed), 0);
	msgpack_sbuffer_destroy(&sample.buffer);
}

static void get(size_t *offset, uint64_t tag)
{
	struct packed_head head;

	assert_true(packing_next_head(&packed, offset, &head));
	assert_int_equal(head.tag, tag);
	memset(&again, 0xee, sizeof(again));
	packing_get(&packing, &packed, *offset, &head, &again);
}

static void expect_end(size_t offset)
{
	struct packed_head head;

	assert_false(packing_next_head(&packed, &offset, &head));
	assert_int_equal(offset, packed.size_bytes);
}

#define FIXTURE_TEST(test) TEST_WITH(test, NULL, teardown)

FIXTURE_TEST(packing_restores_record_without_head_fields)
{
	struct record_text text;
	size_t offset = 0;
	int64_t number;

	sample_begin_cpu(&sample, 42, 7, "r1", 1000, 24);
	sample_fields(&sample, "flags=[inherited]");
	put(99);
	get(&offset, 99);
	expect_end(offset);
	assert_int_equal(again.kind, RECORD_KIND_CPU);
	assert_int_equal(again.wall_ns, 1700000001ULL * 1000000000);
	assert_int_equal(again.field_count, view.field_count - 3);
	assert_null(record_view_find(&again, "schema"));
	assert_null(record_view_find(&again, "kind"));
	assert_null(record_view_find(&again, "record_id"));
	assert_true(record_view_text(&again, "host_name", &text));
	assert_true(record_text_is(text, "web-1"));
	assert_true(record_view_text(&again, "request_id", &text));
	assert_true(record_text_is(text, "r1"));
	assert_true(record_view_count(&again, "cpu_ns", &number));
	assert_int_equal(number, 1024);
	assert_true(record_view_count(&again, "tid", &number));
	assert_int_equal(number, 7);
	assert_int_equal(record_view_find(&again, "flags")->item_count, 1);
	assert_true(record_text_is(record_view_find(&again, "flags")->items[0], "inherited"));
	assert_int_equal(again.item_count, 1);
}

FIXTURE_TEST(packing_round_trips_every_integer)
{
	static const int64_t numbers[] = {
		0,   1,	   63,	 64,	    -1,	       -64,	  -65,		 127,
		128, 8191, 8192, INT32_MAX, INT64_MAX, INT64_MIN, INT64_MIN + 1, 1795399454315178105
	};
	const size_t count = sizeof(numbers) / sizeof(numbers[0]);
	size_t offset = 0;

	sample_record(&sample, "balance pid=1");
	for (size_t i = 0; i < count; i++)
		sample_fields(&sample, "n%zu=%ld", i, numbers[i]);
	put(0);
	get(&offset, 0);
	expect_end(offset);
	/* host_name and pid are in front. */
	for (size_t i = 0; i < count; i++)
		assert_int_equal(again.fields[2 + i].integer, numbers[i]);
}

FIXTURE_TEST(packing_shares_shape_between_records_of_same_fields)
{
	size_t offset = 0;
	struct record_text text;
	int64_t number;

	sample_record(&sample, "cpu pid=1 a=5");
	put(1);
	sample_record(&sample, "cpu pid=2 a=five");
	put(2);
	sample_record(&sample, "cpu pid=3 b=6");
	put(3);
	sample_record(&sample, "cpu pid=4 a=7");
	put(4);
	sample_record(&sample, "gap pid=5 a=8");
	put(5);
	assert_int_equal(packing.shape_count, 4);
	get(&offset, 1);
	assert_true(record_view_count(&again, "a", &number));
	assert_int_equal(number, 5);
	get(&offset, 2);
	assert_true(record_view_text(&again, "a", &text));
	assert_true(record_text_is(text, "five"));
	get(&offset, 3);
	assert_true(record_view_count(&again, "b", &number));
	assert_int_equal(number, 6);
	get(&offset, 4);
	assert_true(record_view_count(&again, "a", &number));
	assert_int_equal(number, 7);
	get(&offset, 5);
	assert_int_equal(again.kind, RECORD_KIND_GAP);
	assert_true(record_view_count(&again, "a", &number));
	assert_int_equal(number, 8);
	expect_end(offset);
}

FIXTURE_TEST(packing_takes_less_than_half_of_recorded_entry)
{
	sample_begin_cpu(&sample, 42, 7, "r1", 1000, 24);
	decode();
	assert_int_equal(packing_put(&packing, &view, 0, &packed), 0);
	assert_true(packed.size_bytes < sample.buffer.size / 2);
	msgpack_sbuffer_destroy(&sample.buffer);
}

FIXTURE_TEST(packing_rejects_new_shapes_beyond_limit)
{
	size_t size_bytes;

	for (size_t i = 0; i < PACKING_SHAPES_MAX; i++) {
		sample_record(&sample, "cpu pid=1 n%zu=1", i);
		put(0);
	}
	size_bytes = packed.size_bytes;
	sample_record(&sample, "cpu pid=1 other=1");
	decode();
	assert_int_equal(packing_put(&packing, &view, 0, &packed), -E2BIG);
	msgpack_sbuffer_destroy(&sample.buffer);
	assert_int_equal(packed.size_bytes, size_bytes);
	sample_record(&sample, "cpu pid=1 n0=1");
	put(0);
	assert_int_equal(packing.shape_count, PACKING_SHAPES_MAX);
}

FIXTURE_TEST(packing_put_adds_nothing_without_memory)
{
	sample_begin_cpu(&sample, 42, 7, "r1", 1000, 24);
	decode();
	assert_each_allocation_can_fail(packing_put(&packing, &view, 0, &packed),
					assert_int_equal(packed.size_bytes, 0));
	assert_true(packed.size_bytes > 0);
	assert_int_equal(packing.shape_count, 1);
	msgpack_sbuffer_destroy(&sample.buffer);
}

FIXTURE_TEST(packing_grows_for_longest_texts)
{
	char text[RECORD_VIEW_TEXT_BYTES_MAX + 1];
	struct record_text found;
	size_t offset = 0;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 20; i++) {
		sample_record(&sample, "cpu pid=%d", i);
		if (i % 2)
			sample_fields(&sample, "key=%s", text);
		else
			sample_fields(&sample, "flags=[%s]", text);
		put((uint64_t)i);
	}
	for (int i = 0; i < 20; i++) {
		get(&offset, (uint64_t)i);
		if (i % 2)
			assert_true(record_view_text(&again, "key", &found));
		else
			found = record_view_find(&again, "flags")->items[0];
		assert_true(record_text_is(found, text));
	}
	expect_end(offset);
}
