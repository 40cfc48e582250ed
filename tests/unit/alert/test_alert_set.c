/* SPDX-License-Identifier: GPL-2.0-only */
/* Records in, changes out: the same of records that are written and of those that were read. */
#include <errno.h>
#include <stdlib.h>

#include "unit_test.h"

#include "alert/alert_set.h"
#include "failing_memory.h"
#include "record/record_encode.h"
#include "record/sample.h"
#include "requests/request_tracker.h"
#include "told.h"

static struct alert_set *set;
static struct record_encoder *encoder;
static bool is_read_back; /* records go in as read */

static int set_up(void **state)
{
	(void)state;
	encoder = record_encoder_new();
	set = alert_set_new();
	told[0] = '\0';
	return encoder && set ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	alert_set_free(set);
	record_encoder_free(encoder);
	return 0;
}

static void begin_again(void)
{
	alert_set_free(set);
	set = alert_set_new();
	assert_non_null(set);
}

static int try_watch(const char *text)
{
	struct alert_expression expression;
	struct alert_error error;

	assert_int_equal(alert_expression_parse(text, &expression, &error), 0);
	return alert_set_add(set, &expression);
}

static void watch(const char *text)
{
	assert_int_equal(try_watch(text), 0);
}

static int try_add(enum record_kind kind, void *record)
{
	static struct record_view view;
	struct record_common *common = record;
	size_t size_bytes;
	const void *bytes;

	if (!is_read_back)
		return alert_set_add_record(set, kind, record);
	common->wall_ns = START_NS;
	common->record_id = common->host_name = "x";
	common->pid = 1;
	record_encoder_reset(encoder);
	assert_int_equal(record_encode_kind(encoder, kind, record), 0);
	bytes = record_encoder_bytes(encoder, &size_bytes);
	assert_int_equal(record_view_decode(bytes, size_bytes, &view), 0);
	return alert_set_add_view(set, &view);
}

static int try_cpu(const char *id, const char *endpoint, uint64_t cpu_ns)
{
	struct record_key keys[] = { { "request_id", id }, { "endpoint", endpoint } };
	struct cpu_record record = {
		.keys = keys, .keys_count = 2, .cpu_ns = cpu_ns, .first_ns = 1, .last_ns = 2
	};

	return try_add(RECORD_KIND_CPU, &record);
}

static void cpu(const char *id, const char *endpoint, uint64_t cpu_ns)
{
	assert_int_equal(try_cpu(id, endpoint, cpu_ns), 0);
}

static void end_window(int64_t start_ms, int64_t end_ms, bool is_last)
{
	struct alert_window window = window_of(start_ms, end_ms);

	assert_int_equal(alert_set_end_window(set, &window, is_last, tell, NULL), 0);
}

static void both_ways(void (*check)(void))
{
	for (int way = 0; way < 2; way++) {
		is_read_back = way == 1;
		begin_again();
		check();
	}
	is_read_back = false;
}

static void check_requests(void)
{
	watch("max(cpu) > 50ns by endpoint");
	watch("sum(cpu) > 50ns by endpoint");
	watch("max(cpu) > 59ns");
	watch("max(cpu) > 1ns by request_id");
	end_window(0, 1000, false);
	cpu("a", "A", 30);
	cpu("b", "B", 30);
	cpu("", "", 1000);
	end_window(1000, 2000, false);
	expect_told("");
	cpu("a", "A", 30);
	end_window(2000, 3000, false);
	expect_told("");
	end_window(3000, 4000, false);
	expect_told("4000 firing [b] 30 since 1000|");
	end_window(4000, 5000, false);
	expect_told("5000 firing [A] 60 since 2000|5000 firing 60 since 2000|"
		    "5000 firing [a] 60 since 2000|");
}

#define SET_TEST(test) TEST_WITH(test, set_up, tear_down)

SET_TEST(alert_set_evaluates_whole_request_after_it_ends)
{
	both_ways(check_requests);
}

/* Requests at a steady rate, each in one window: whatever the windows' lengths, nothing changes. */
static void steady_load(double per_second, int64_t window_ms, int64_t seconds)
{
	double due_ms = 0;
	int64_t start_ms = 0, number = 0;
	char id[32];

	for (int64_t i = 1; start_ms < seconds * 1000; i++) {
		/* As late as a recorder gets its CPU. */
		int64_t end_ms = i * window_ms + (i * 7919) % (window_ms / 16 + 1);

		for (; due_ms < (double)end_ms; due_ms += 1000 / per_second) {
			(void)snprintf(id, sizeof(id), "%d", (int)number++);
			cpu(id, "A", 1000000);
		}
		end_window(start_ms, end_ms, false);
		start_ms = end_ms;
	}
}

SET_TEST(alert_set_does_not_flap_under_steady_load)
{
	static const double rates[] = { 0.3, 3, 100, 1000 };
	static const int64_t windows_ms[] = { 250, 1000, 2500, 10000 };
	char text[64];

	for (size_t i = 0; i < 16; i++) {
		double rate = rates[i / 4];
		int64_t window_ms = windows_ms[i % 4];
		/* By one request more or less in a window. */
		double error = 1.1 * 1000 / (double)window_ms + rate / 10;

		begin_again();
		watch("p99(cpu) > 500us");
		(void)snprintf(text, sizeof(text), "rate(requests) > %.3f", rate + error);
		watch(text);
		if (rate > error) {
			(void)snprintf(text, sizeof(text), "rate(requests) < %.3f", rate - error);
			watch(text);
		}
		told[0] = '\0';
		/* Of the most requests ten minutes by one length of windows: they take long. */
		steady_load(rate, window_ms, rate < 1000 || window_ms == 1000 ? 600 : 60);
		if (!strstr(told, " firing 1000000 since ") || strchr(told, '|')[1] != '\0')
			fail_msg("%.1f requests a second, windows of %d ms: %s", rate,
				 (int)window_ms, told);
	}
}

static void check_the_end(void)
{
	watch("max(cpu) > 1ns");
	watch("p99(cpu) > 2ns");
	watch("mean(cpu) > 3ns");
	watch("count(requests) > 0");
	watch("rate(requests) > 0");
	watch("sum(wall) > 0ns");
	watch("rate(wall) > 0");
	cpu("a", "A", 30);
	end_window(0, 1000, false);
	expect_told("");
	end_window(1000, 2000, true);
	expect_told("2000 firing 30 since 0|2000 firing 30 since 0|2000 firing 30 since 0|");
}

SET_TEST(alert_set_excludes_open_requests_from_counts_at_end)
{
	both_ways(check_the_end);
}

static void check_books(void)
{
	struct balance_record balance = { .exec_ns = 1000,
					  .attributed_ns = 600,
					  .unattributed_ns = 300,
					  .overflow_ns = 90,
					  .residual_ns = -10 };
	struct balance_record other = { .exec_ns = 1000, .residual_ns = 20 };
	struct self_record self = { .window_ns = 1, .own_cpu_ns = 77 };
	struct gap_record gap = { .dropped_records = 3, .reason = "x" };

	watch("exec > 0ns");
	watch("attributed > 0ns");
	watch("unattributed > 0ns");
	watch("overflow > 0ns");
	watch("residual > 0ns");
	watch("own_cpu > 0ns");
	watch("lost > 0");
	watch("events_lost > 0");
	balance.losses[COUNTER_EVENTS_LOST] = 4;
	other.losses[COUNTER_EVENTS_LOST] = 1;
	assert_int_equal(try_add(RECORD_KIND_BALANCE, &balance), 0);
	assert_int_equal(try_add(RECORD_KIND_BALANCE, &other), 0);
	assert_int_equal(try_add(RECORD_KIND_SELF, &self), 0);
	assert_int_equal(try_add(RECORD_KIND_GAP, &gap), 0);
	end_window(0, 1000, false);
	expect_told("1000 firing 2000 since 0|1000 firing 600 since 0|1000 firing 300 since 0|"
		    "1000 firing 90 since 0|1000 firing 30 since 0|1000 firing 77 since 0|"
		    "1000 firing 8 since 0|1000 firing 5 since 0|");
	/* Each window has its own. */
	end_window(1000, 2000, false);
	expect_told("2000 resolved none since 1000|2000 resolved none since 1000|"
		    "2000 resolved none since 1000|2000 resolved none since 1000|"
		    "2000 resolved none since 1000|2000 resolved none since 1000|"
		    "2000 resolved none since 1000|2000 resolved none since 1000|");
}

SET_TEST(alert_set_sums_balance_of_all_processes)
{
	both_ways(check_books);
}

SET_TEST(alert_set_counts_each_loss_counter_as_lost)
{
	char expected[64];

	watch("lost > 0");
	for (int counter = 0; counter < _COUNTER_MAX; counter++) {
		struct balance_record balance = { 0 };

		balance.losses[counter] = 1;
		for (int way = 0; way < 2; way++) {
			is_read_back = way == 1;
			assert_int_equal(try_add(RECORD_KIND_BALANCE, &balance), 0);
		}
		is_read_back = false;
		end_window(2000 * counter, 2000 * counter + 1000, false);
		end_window(2000 * counter + 1000, 2000 * counter + 2000, false);
		(void)snprintf(expected, sizeof(expected),
			       "%d firing 2 since %d|%d resolved none since %d|",
			       2000 * counter + 1000, 2000 * counter, 2000 * counter + 2000,
			       2000 * counter + 1000);
		expect_told(counter_is_loss((enum counter)counter) ? expected : "");
	}
	assert_false(counter_is_loss(COUNTER_CONTEXT_INHERITED));
}

SET_TEST(alert_set_treats_missing_balance_fields_as_zero)
{
	static struct record_view view;
	struct sample sample;

	watch("exec >= 0ns");
	watch("unattributed >= 0ns");
	watch("residual >= 0ns");
	watch("lost >= 0");
	sample_record(&sample, "balance pid=1 exec_ns=5");
	sample_decode(&sample, &view);
	assert_int_equal(alert_set_add_view(set, &view), 0);
	end_window(0, 1000, false);
	expect_told("1000 firing 5 since 0|1000 firing 0 since 0|1000 firing 0 since 0|"
		    "1000 firing 0 since 0|");
	msgpack_sbuffer_destroy(&sample.buffer);
}

static void check_too_many_open(void)
{
	char id[16];

	watch("count(requests) > 0");
	watch("count(requests) > 1 by e");
	for (int i = 0; i < REQUESTS_OPEN_MAX + 2; i++) {
		struct record_key keys[] = { { "request_id", id }, { "e", i == 0 ? "a" : "b" } };
		struct cpu_record record = { .keys = keys, .keys_count = 2, .last_ns = 1 };

		(void)snprintf(id, sizeof(id), "%d", i);
		assert_int_equal(try_add(RECORD_KIND_CPU, &record), 0);
	}
	end_window(0, 1000, false);
	end_window(1000, 2000, false);
	expect_told("");
	end_window(2000, 3000, false);
	expect_told("3000 firing 32770 since 0|3000 firing [b] 32769 since 0|");
	end_window(3000, 4000, false);
	expect_told("4000 resolved 0 since 1000|4000 resolved [b] 0 since 1000|");
}

SET_TEST(alert_set_ends_oldest_requests_when_too_many_are_open)
{
	check_too_many_open();
}

SET_TEST(alert_set_saturates_out_of_range_figures)
{
	struct balance_record balance = { .exec_ns = UINT64_MAX, .residual_ns = INT64_MIN };

	watch("exec > 0ns");
	watch("residual > 0ns");
	assert_int_equal(try_add(RECORD_KIND_BALANCE, &balance), 0);
	end_window(0, 1000, false);
	expect_told("1000 firing 9223372036854775807 since 0|"
		    "1000 firing 9223372036854775807 since 0|");
}

SET_TEST(alert_set_ignores_other_record_kinds)
{
	struct process_record process = { .event = PROCESS_EVENT_FOUND, .comm = "x" };

	watch("lost >= 0");
	assert_int_equal(try_add(RECORD_KIND_PROCESS, &process), 0);
	is_read_back = true;
	assert_int_equal(try_add(RECORD_KIND_PROCESS, &process), 0);
	is_read_back = false;
	end_window(0, 1000, false);
	expect_told("");
}

SET_TEST(alert_set_rejects_more_than_maximum_alerts)
{
	for (size_t i = 0; i < ALERTS_MAX; i++) {
		assert_int_equal(alert_set_count(set), i);
		watch(i % 2 ? "max(cpu) > 1ns by a" : "lost > 1");
	}
	assert_int_equal(try_watch("lost > 2"), -E2BIG);
	assert_int_equal(alert_set_count(set), ALERTS_MAX);
	assert_string_equal(alert_set_expression(set, 1)->text, "max(cpu) > 1ns by a");
	assert_string_equal(alert_set_expression(set, 2)->text, "lost > 1");
}

static int end_window_quietly(void)
{
	return alert_set_end_window(set, &(struct alert_window){ 1, 2, 0, 0 }, false, tell, NULL);
}

static int end_last_window(void)
{
	return alert_set_end_window(set, &(struct alert_window){ 1, 2, 0, 0 }, true, tell, NULL);
}

static void begin_again_with_request(void)
{
	begin_again();
	watch("mean(cpu) > 1s by endpoint");
	watch("max(cpu) > 1s by tenant");
	watch("max(cpu) > 1s");
	cpu("a", "A", 1);
	assert_int_equal(end_window_quietly(), 0);
}

static void note_failure(size_t alerts, size_t *failures)
{
	assert_int_equal(alert_set_count(set), alerts);
	++*failures;
}

SET_TEST(alert_set_fails_with_enomem_when_allocation_fails)
{
	size_t failures[4] = { 0 };

	assert_each_allocation_can_fail(try_watch("max(cpu) > 1ns by endpoint"),
					note_failure(0, &failures[0]));
	assert_each_allocation_can_fail(try_watch("sum(cpu) > 1ns by tenant"),
					note_failure(1, &failures[1]));
	watch("sum(cpu) > 1s by endpoint");
	assert_each_allocation_can_fail(try_cpu("a", "A", 1), note_failure(3, &failures[2]));
	memory_fails_after(0);
	assert_int_equal(end_window_quietly(), 0);
	memory_never_fails();
	assert_each_allocation_can_fail(
		end_last_window(), (note_failure(3, &failures[3]), begin_again_with_request()));
	for (size_t i = 0; i < 4; i++)
		assert_true(failures[i] > 1);
	memory_fails_after(0);
	assert_null(alert_set_new());
	memory_never_fails();
	alert_set_free(NULL);
}

static void expect_line(const struct alert_change *change, const char *expected)
{
	char line[256];

	alert_change_print(change, line, sizeof(line));
	assert_string_equal(line, expected);
}

SET_TEST(alert_change_prints_one_line)
{
	struct alert_change change = { .has_value = true, .value = 61234567 };
	struct alert_expression expression;
	struct alert_error error;

	assert_int_equal(alert_expression_parse("max(cpu) > 1ms by e", &expression, &error), 0);
	change.expression = &expression;
	change.value_of_key = "GET /";
	expect_line(&change, "max(cpu) > 1ms by e: e=GET /: is at 61.23 ms");
	change.has_value = false;
	expect_line(&change, "max(cpu) > 1ms by e: e=GET /: nothing is measured any more");
	change.value_of_key = NULL;
	change.has_value = true;
	expect_line(&change, "max(cpu) > 1ms by e: is at 61.23 ms");
}
