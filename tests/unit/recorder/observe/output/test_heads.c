/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "record/check.h"
#include "record/entry_scan.h"
#include "record/record_encode.h"
#include "record/record_fields.h"
#include "record/record_view.h"
#include "recorder/observe/output/heads.h"

static struct heads *heads;
static struct record_encoder *encoder;

static const struct record_common common = { .wall_ns = 1, .record_id = "a:1", .host_name = "h" };

static int setup(void **state)
{
	(void)state;
	heads = heads_new();
	encoder = record_encoder_new();
	return heads && encoder ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	heads_free(heads);
	record_encoder_free(encoder);
	return 0;
}

static const void *encode(enum record_kind kind, void *record, size_t *ret_size_bytes)
{
	record_encoder_reset(encoder);
	assert_int_equal(record_encode_kind(encoder, kind, record), 0);
	return record_encoder_bytes(encoder, ret_size_bytes);
}

static int add(enum record_kind kind, void *record)
{
	size_t size_bytes;
	const void *bytes = encode(kind, record, &size_bytes);

	return heads_add(heads, kind, record, bytes, size_bytes);
}

static int add_process(uint32_t pid, enum process_event event, const char *comm)
{
	struct process_record record = { .common = common, .event = event, .comm = comm };

	record.common.pid = pid;
	return add(RECORD_KIND_PROCESS, &record);
}

/* "meta 1.0; process 7 found a; ": those that there are, and checks that hold. */
static void expect(const char *expected)
{
	static struct record_view view;
	size_t size_bytes = 0, entry_bytes, checked = 0;
	const uint8_t *bytes = heads_bytes(heads, &size_bytes);
	char found[1024] = "";

	assert_true(bytes || !size_bytes);
	for (size_t at = 0; at < size_bytes; at += entry_bytes) {
		assert_int_equal(entry_scan(bytes + at, size_bytes - at, &entry_bytes), 0);
		if (check_is(bytes + at, entry_bytes)) {
			uint8_t check[CHECK_BYTES];

			assert_int_equal(check_covered_bytes(bytes + at), at - checked);
			check_write(bytes + checked, at - checked, bytes + at, check);
			assert_memory_equal(check, bytes + at, CHECK_BYTES);
			checked = at + entry_bytes;
			continue;
		}
		assert_true(at > 0);
		assert_int_equal(record_view_decode(bytes + at, entry_bytes, &view), 0);
		if (view.kind == RECORD_KIND_META) {
			(void)strcat(found, "meta; ");
		} else {
			struct record_text event = { 0 }, comm = { 0 };
			size_t used = strlen(found);

			(void)record_view_text(&view, RECORD_FIELD(process, event), &event);
			(void)record_view_text(&view, RECORD_FIELD(process, comm), &comm);
			(void)snprintf(found + used, sizeof(found) - used, "%.*s %.*s; ",
				       (int)event.size_bytes, event.bytes, (int)comm.size_bytes,
				       comm.bytes);
		}
	}
	assert_int_equal(checked, size_bytes);
	assert_string_equal(found, expected);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(heads_hold_current_meta_and_process_records)
{
	struct meta_record meta = { .common = common,
				    .tool_version = "0.1.0",
				    .kernel_release = "6.18",
				    .machine = "x86_64",
				    .boot_id = "b",
				    .mode = WATCH_MODE_EXACT };
	struct gap_record gap = { .common = common, .reason = "none" };

	expect("");
	assert_int_equal(add(RECORD_KIND_META, &meta), 0);
	assert_int_equal(add_process(7, PROCESS_EVENT_FOUND, "a"), 0);
	assert_int_equal(add(RECORD_KIND_GAP, &gap), 0);
	expect("meta; found a; ");
	assert_int_equal(add(RECORD_KIND_META, &meta), 0);
	assert_int_equal(add_process(8, PROCESS_EVENT_FORK, "b"), 0);
	assert_int_equal(add_process(8, PROCESS_EVENT_EXEC, "c"), 0);
	expect("meta; found a; fork b; exec c; ");
	/* Each time the same. */
	expect("meta; found a; fork b; exec c; ");
}

FIXTURE_TEST(heads_keep_last_record_of_each_process_event)
{
	assert_int_equal(add_process(7, PROCESS_EVENT_FOUND, "a"), 0);
	assert_int_equal(add_process(7, PROCESS_EVENT_MODE, "b"), 0);
	assert_int_equal(add_process(7, PROCESS_EVENT_LOAD, "c"), 0);
	assert_int_equal(add_process(7, PROCESS_EVENT_MODE, "d"), 0);
	assert_int_equal(add_process(7, PROCESS_EVENT_UNLOAD, "e"), 0);
	expect("found a; load c; unload e; mode d; ");
}

FIXTURE_TEST(heads_drop_process_after_exit)
{
	assert_int_equal(add_process(7, PROCESS_EVENT_FOUND, "a"), 0);
	assert_int_equal(add_process(8, PROCESS_EVENT_FOUND, "b"), 0);
	assert_int_equal(add_process(7, PROCESS_EVENT_EXIT, "a"), 0);
	assert_int_equal(add_process(9, PROCESS_EVENT_EXIT, "x"), 0);
	expect("found b; ");
	assert_int_equal(add_process(7, PROCESS_EVENT_FORK, "again"), 0);
	expect("found b; fork again; ");
}

/* A reader holds what is not checked yet. */
FIXTURE_TEST(heads_insert_checks_between_many_records)
{
	size_t size_bytes, entry_bytes, longest = 0, last = 0;
	const uint8_t *bytes;

	for (uint32_t pid = 1; pid <= 1000; pid++)
		assert_int_equal(add_process(pid, PROCESS_EVENT_FOUND, "a"), 0);
	bytes = heads_bytes(heads, &size_bytes);
	for (size_t at = 0; at < size_bytes; at += entry_bytes) {
		assert_int_equal(entry_scan(bytes + at, size_bytes - at, &entry_bytes), 0);
		if (!check_is(bytes + at, entry_bytes))
			continue;
		longest = at - last > longest ? at - last : longest;
		last = at + entry_bytes;
	}
	assert_int_equal(last, size_bytes);
	assert_true(longest >= CHECK_SPAN_BYTES && longest < CHECK_SPAN_BYTES + 1024);
}

FIXTURE_TEST(heads_report_lack_of_memory_and_stay_usable)
{
	struct process_record record = { .common = common,
					 .event = PROCESS_EVENT_FOUND,
					 .comm = "a" };
	size_t size_bytes, failures = 0;
	const void *bytes;

	record.common.pid = 7;
	bytes = encode(RECORD_KIND_PROCESS, &record, &size_bytes);
	assert_each_allocation_can_fail(
		heads_add(heads, RECORD_KIND_PROCESS, &record, bytes, size_bytes), failures++);
	assert_true(failures > 1);
	memory_fails_after(0);
	assert_null(heads_bytes(heads, &size_bytes));
	memory_never_fails();
	expect("found a; ");
	memory_fails_after(0);
	assert_null(heads_new());
	memory_never_fails();
}
