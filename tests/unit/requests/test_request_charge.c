/* SPDX-License-Identifier: GPL-2.0-only */
/* What a record says of a request is the same when it is written and when it was read back. */
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "record/record_encode.h"
#include "requests/request_charge.h"

static const struct record_key keys[] = { { "request_id", "r-1" }, { "endpoint", "GET /" } };
static const struct cpu_record whole = {
	.common = { .wall_ns = 1600000000000000000, .record_id = "1", .host_name = "h", .pid = 7 },
	.tid = 1,
	.keys = keys,
	.keys_count = 2,
	.cpu_ns = 30,
};

static struct record_encoder *encoder;

/* As read back: valid until the next one. */
static struct request_charge read_back(const struct cpu_record *record, const char *key)
{
	static struct record_view view;
	struct cpu_record copy = *record;
	size_t size_bytes;
	const void *bytes;

	record_encoder_free(encoder);
	encoder = record_encoder_new();
	assert_non_null(encoder);
	assert_int_equal(record_encode_kind(encoder, RECORD_KIND_CPU, &copy), 0);
	bytes = record_encoder_bytes(encoder, &size_bytes);
	assert_int_equal(record_view_decode(bytes, size_bytes, &view), 0);
	return request_charge_of_view(&view, key);
}

static int tear_down(void **state)
{
	(void)state;
	record_encoder_free(encoder);
	encoder = NULL;
	return 0;
}

static void expect_text(struct record_text text, const char *expected)
{
	assert_int_equal(text.size_bytes, strlen(expected));
	if (text.size_bytes)
		assert_memory_equal(text.bytes, expected, text.size_bytes);
}

static void expect(const struct request_charge *charge, const char *id, const char *value,
		   bool is_attributed)
{
	expect_text(charge->id, id);
	expect_text(charge->value, value);
	assert_int_equal(charge->is_attributed, is_attributed);
	assert_int_equal(charge->costs.record_count, 1);
	assert_int_equal(charge->pid, 7);
	assert_int_equal(charge->costs.sums[COST_CPU], 30);
}

static void expect_both(const struct cpu_record *record, const char *key, const char *id,
			const char *value, bool is_attributed)
{
	struct request_charge written = request_charge_of_record(record, key);
	struct request_charge read = read_back(record, key);

	expect(&written, id, value, is_attributed);
	expect(&read, id, value, is_attributed);
}

TEST_WITH(charge_has_value_of_requested_key, NULL, tear_down)
{
	expect_both(&whole, "endpoint", "r-1", "GET /", true);
	expect_both(&whole, "request_id", "r-1", "r-1", true);
	expect_both(&whole, "tenant", "r-1", "", true);
	expect_both(&whole, NULL, "r-1", "", true);
}

TEST_WITH(charge_of_overflow_or_unattributed_time_has_no_request, NULL, tear_down)
{
	static const struct record_key none[] = { { "request_id", "" }, { "endpoint", "" } };
	static const struct record_key absent[] = { { "request_id", NULL }, { "endpoint", NULL } };
	static const struct record_key half[] = { { "request_id", NULL }, { "endpoint", "x" } };
	struct cpu_record record = whole;

	record.keys = none;
	expect_both(&record, "endpoint", "", "", false);
	record.keys = absent;
	expect_both(&record, "endpoint", "", "", true);
	record.keys = half;
	expect_both(&record, "endpoint", "", "x", true);
	record = whole;
	record.flags = CPU_RECORD_OVERFLOW;
	expect_both(&record, "endpoint", "", "", false);
	record.flags = CPU_RECORD_UNKNOWN;
	expect_both(&record, "endpoint", "", "", false);
	record.flags = CPU_RECORD_INHERITED | CPU_RECORD_TRUNCATED;
	expect_both(&record, "endpoint", "r-1", "GET /", true);
}
