/* SPDX-License-Identifier: GPL-2.0-only */
/* What a record says of a request is the same when it is written and when it was read back. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "record/record_encode.h"
#include "requests/request_charge.h"

static const struct record_key keys[] = { { "request_id", "r-1" }, { "endpoint", "GET /" } };
static const struct cpu_record whole = {
	.common = { .wall_ns = 1600000000000000000, .record_id = "1", .host_name = "h", .pid = 1 },
	.tid = 1,
	.keys = keys,
	.keys_count = 2,
	.has_kernel_split = true,
	.cpu_ns = 30,
	.user_ns = 20,
	.kernel_ns = 10,
	.run_queue_ns = 4,
	.blocked_ns = 5,
	.first_ns = 100,
	.last_ns = 160,
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

/* In the order of enum request_figure; -1: not measured. */
static void expect(const struct request_charge *charge, const char *id, const char *value,
		   bool is_attributed, const int64_t figures[_REQUEST_FIGURE_MAX])
{
	expect_text(charge->id, id);
	expect_text(charge->value, value);
	assert_int_equal(charge->is_attributed, is_attributed);
	for (int figure = 0; figure < _REQUEST_FIGURE_MAX; figure++) {
		int64_t ns = -1;

		assert_int_equal(
			request_costs_figure(&charge->costs, (enum request_figure)figure, &ns),
			figures[figure] >= 0);
		assert_int_equal(ns, figures[figure]);
	}
}

static void expect_both(const struct cpu_record *record, const char *key, const char *id,
			const char *value, bool is_attributed,
			const int64_t figures[_REQUEST_FIGURE_MAX])
{
	struct request_charge written = request_charge_of_record(record, key);
	struct request_charge read = read_back(record, key);

	expect(&written, id, value, is_attributed, figures);
	expect(&read, id, value, is_attributed, figures);
}

static const int64_t all[] = { 30, 60, 20, 10, 4, 5 };

static void each_figure_is_the_records(void **state)
{
	(void)state;
	expect_both(&whole, "endpoint", "r-1", "GET /", true, all);
	expect_both(&whole, "request_id", "r-1", "r-1", true, all);
	expect_both(&whole, "tenant", "r-1", "", true, all);
	expect_both(&whole, NULL, "r-1", "", true, all);
}

static bool figure_of(const struct cpu_record *record, enum request_figure figure, int64_t *ret_ns)
{
	struct request_charge charge = request_charge_of_record(record, NULL);

	return request_costs_figure(&charge.costs, figure, ret_ns);
}

static void what_is_not_measured_is_not_zero(void **state)
{
	static const int64_t unsplit[] = { 30, 60, -1, -1, 4, 5 };
	static const int64_t untimed[] = { 30, -1, 20, 10, 4, 5 };
	struct cpu_record record = whole;
	int64_t ns;

	(void)state;
	record.has_kernel_split = false;
	expect_both(&record, "endpoint", "r-1", "GET /", true, unsplit);
	record = whole;
	record.last_ns = 99;
	expect_both(&record, "endpoint", "r-1", "GET /", true, untimed);
	record.first_ns = record.last_ns;
	assert_true(figure_of(&record, REQUEST_WALL, &ns));
}

static void time_of_nobody_is_of_no_request(void **state)
{
	static const struct record_key none[] = { { "request_id", "" }, { "endpoint", "" } };
	static const struct record_key absent[] = { { "request_id", NULL }, { "endpoint", NULL } };
	static const struct record_key half[] = { { "request_id", NULL }, { "endpoint", "x" } };
	struct cpu_record record = whole;

	(void)state;
	record.keys = none;
	expect_both(&record, "endpoint", "", "", false, all);
	record.keys = absent;
	expect_both(&record, "endpoint", "", "", true, all);
	record.keys = half;
	expect_both(&record, "endpoint", "", "x", true, all);
	record = whole;
	record.flags = CPU_RECORD_OVERFLOW;
	expect_both(&record, "endpoint", "", "", false, all);
	record.flags = CPU_RECORD_UNKNOWN;
	expect_both(&record, "endpoint", "", "", false, all);
	record.flags = CPU_RECORD_INHERITED | CPU_RECORD_TRUNCATED;
	expect_both(&record, "endpoint", "r-1", "GET /", true, all);
}

static void sums_have_the_widest_span_and_lack_what_one_lacks(void **state)
{
	struct request_costs sum = { 0 };
	struct request_costs early = { .has_span = true, .first_ns = 5, .last_ns = 7 };
	struct request_costs late = { .has_span = true, .first_ns = 6, .last_ns = 20 };
	int64_t ns;

	(void)state;
	assert_false(request_costs_figure(&sum, REQUEST_WALL, &ns));
	early.sums[REQUEST_CPU] = INT64_MAX - 1;
	late.sums[REQUEST_CPU] = 3;
	late.missing = 1U << REQUEST_KERNEL;
	request_costs_add(&sum, &late);
	request_costs_add(&sum, &early);
	assert_true(request_costs_figure(&sum, REQUEST_WALL, &ns));
	assert_int_equal(ns, 15);
	assert_true(request_costs_figure(&sum, REQUEST_CPU, &ns));
	assert_true(ns == INT64_MAX);
	assert_false(request_costs_figure(&sum, REQUEST_KERNEL, &ns));
	request_costs_add(&sum, &(struct request_costs){ .last_ns = 1000 });
	assert_true(request_costs_figure(&sum, REQUEST_WALL, &ns));
	assert_int_equal(ns, 15);
}

static void what_is_beyond_a_records_range_is_its_end(void **state)
{
	struct cpu_record record = whole;
	int64_t ns;

	(void)state;
	record.cpu_ns = UINT64_MAX;
	record.blocked_ns = (uint64_t)INT64_MAX + 1;
	record.run_queue_ns = INT64_MAX;
	assert_true(figure_of(&record, REQUEST_CPU, &ns));
	assert_true(ns == INT64_MAX);
	assert_true(figure_of(&record, REQUEST_BLOCKED, &ns));
	assert_true(ns == INT64_MAX);
	assert_true(figure_of(&record, REQUEST_RUN_QUEUE, &ns));
	assert_true(ns == INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_figure_is_the_records, tear_down),
		cmocka_unit_test_teardown(what_is_not_measured_is_not_zero, tear_down),
		cmocka_unit_test_teardown(time_of_nobody_is_of_no_request, tear_down),
		cmocka_unit_test(sums_have_the_widest_span_and_lack_what_one_lacks),
		cmocka_unit_test(what_is_beyond_a_records_range_is_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
