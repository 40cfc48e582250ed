/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/past_alerts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "base/clock.h"
#include "failing_memory.h"
#include "record/record_encode.h"

#define START_NS (UINT64_C(1600000000) * NS_PER_S)

static struct alert_set *set;
static struct past_alerts *alerts;
static struct record_encoder *encoder;
static char told[4096];

static void tell(void *user, const char *host, const struct alert_change *change)
{
	size_t length = strlen(told);

	assert_ptr_equal(user, &told);
	(void)snprintf(told + length, sizeof(told) - length, "%d %s %s %d since %d|",
		       (int)((change->wall_ns - START_NS) / NS_PER_MS), host,
		       change->is_firing ? "firing" : "resolved", (int)change->value,
		       (int)((int64_t)(change->since_ns - START_NS) / (int64_t)NS_PER_MS));
}

static void expect_told(const char *expected)
{
	assert_string_equal(told, expected);
	told[0] = '\0';
}

static int end(void **state)
{
	(void)state;
	past_alerts_free(alerts);
	alerts = NULL;
	alert_set_free(set);
	set = NULL;
	record_encoder_free(encoder);
	encoder = NULL;
	return 0;
}

/* Behind one that never fires. */
static void begin(const char *text)
{
	struct alert_expression expression;
	struct alert_error error;

	(void)end(NULL);
	told[0] = '\0';
	encoder = record_encoder_new();
	set = alert_set_new();
	assert_true(encoder && set);
	assert_int_equal(alert_expression_parse("sum(cpu) > 999999999ns", &expression, &error), 0);
	assert_int_equal(alert_set_add(set, &expression), 0);
	assert_int_equal(alert_expression_parse(text, &expression, &error), 0);
	assert_int_equal(alert_set_add(set, &expression), 0);
	assert_int_equal(past_alerts_new(set, &(struct filter){ 0 }, tell, told, &alerts), 0);
}

/* Valid until the next one. */
static const struct record_view *view_of(enum record_kind kind, void *record)
{
	static struct record_view view;
	size_t size_bytes;
	const void *bytes;

	record_encoder_reset(encoder);
	assert_int_equal(record_encode_kind(encoder, kind, record), 0);
	bytes = record_encoder_bytes(encoder, &size_bytes);
	assert_int_equal(record_view_decode(bytes, size_bytes, &view), 0);
	return &view;
}

static int try_add(enum record_kind kind, void *record)
{
	return past_alerts_add(alerts, view_of(kind, record));
}

/* Of a window of a second that ended then. */
static int try_cpu(const char *record_id, const char *host, int64_t end_ms, uint64_t cpu_ns)
{
	struct record_key keys[] = { { "request_id", "r" } };

	return try_add(RECORD_KIND_CPU,
		       &(struct cpu_record){
			       .common = { .wall_ns = START_NS + (uint64_t)end_ms * NS_PER_MS,
					   .record_id = record_id,
					   .host_name = host,
					   .pid = 7 },
			       .keys = keys,
			       .keys_count = 1,
			       .window_ns = NS_PER_S,
			       .cpu_ns = cpu_ns,
			       .first_ns = 1,
			       .last_ns = 2 });
}

static void cpu(const char *record_id, const char *host, int64_t end_ms, uint64_t cpu_ns)
{
	assert_int_equal(try_cpu(record_id, host, end_ms, cpu_ns), 0);
}

#define PAST_TEST(test) TEST_WITH(test, NULL, end)

PAST_TEST(past_alerts_merge_records_of_one_time_into_window)
{
	begin("sum(cpu) > 5ns");
	cpu("a:1", "web", 1000, 3);
	cpu("a:2", "web", 1000, 3);
	expect_told("");
	cpu("a:3", "web", 2000, 3);
	expect_told("1000 web firing 6 since 0|");
	cpu("a:4", "web", 3000, 6);
	expect_told("2000 web resolved 3 since 1000|");
	assert_int_equal(past_alerts_finish(alerts), 0);
	expect_told("3000 web firing 6 since 2000|");
}

PAST_TEST(past_alerts_end_open_requests_on_finish)
{
	begin("max(cpu) > 5ns");
	cpu("a:1", "web", 1000, 6);
	cpu("a:2", "web", 2000, 6);
	expect_told("");
	assert_int_equal(past_alerts_finish(alerts), 0);
	expect_told("2000 web firing 12 since 1000|");
}

PAST_TEST(past_alerts_count_duplicate_record_once)
{
	begin("sum(cpu) > 5ns");
	cpu("a:1", "web", 1000, 3);
	cpu("a:1", "web", 1000, 3);
	assert_int_equal(past_alerts_finish(alerts), 0);
	expect_told("");
}

PAST_TEST(past_alerts_keep_windows_per_recorder)
{
	begin("sum(cpu) > 5ns for 2s");
	cpu("a:1", "web\n1", 1000, 6);
	cpu("b:1", "web-2", 1500, 6);
	cpu("a:2", "web\n1", 2000, 6);
	cpu("b:2", "web-2", 2500, 6);
	assert_int_equal(past_alerts_finish(alerts), 0);
	expect_told("2000 web\\x0a1 firing 6 since 0|2500 web-2 firing 6 since 500|");
	begin("sum(cpu) > 5ns");
	cpu("a:1:1", "web", 1000, 3);
	cpu("a:2:1", "web", 1000, 3);
	cpu("", "web", 1000, 3);
	cpu("a:1:2", "web", 1000, 3);
	assert_int_equal(past_alerts_finish(alerts), 0);
	expect_told("1000 web firing 6 since 0|");
}

PAST_TEST(past_alerts_open_windows_on_balance_and_self_records)
{
	struct record_common common = {
		.wall_ns = START_NS + NS_PER_S, .record_id = "a:1", .host_name = "web", .pid = 1
	};
	struct balance_record balance = { .common = common, .window_ns = 500000000 };
	struct self_record self = { .common = common, .window_ns = 500000000 };
	struct gap_record gap = { .common = common, .dropped_records = 5, .reason = "x" };
	struct process_record process = { .common = common,
					  .event = PROCESS_EVENT_EXIT,
					  .comm = "x" };

	begin("lost >= 5");
	assert_int_equal(try_add(RECORD_KIND_BALANCE, &balance), 0);
	gap.common.record_id = "a:2";
	gap.common.wall_ns++;
	assert_int_equal(try_add(RECORD_KIND_GAP, &gap), 0);
	process.common.record_id = "a:3";
	process.common.wall_ns += 2;
	assert_int_equal(try_add(RECORD_KIND_PROCESS, &process), 0);
	expect_told("");
	assert_int_equal(past_alerts_finish(alerts), 0);
	expect_told("1000 web firing 5 since 500|");
	begin("own_cpu >= 0ns");
	assert_int_equal(try_add(RECORD_KIND_SELF, &self), 0);
	assert_int_equal(past_alerts_finish(alerts), 0);
	expect_told("1000 web firing 0 since 500|");
	begin("own_cpu >= 0ns");
	assert_int_equal(try_add(RECORD_KIND_PROCESS, &process), 0);
	assert_int_equal(past_alerts_finish(alerts), 0);
	expect_told("");
	/* A window that is longer than time is. */
	begin("own_cpu >= 0ns");
	self.window_ns = INT64_MAX;
	assert_int_equal(try_add(RECORD_KIND_SELF, &self), 0);
	assert_int_equal(past_alerts_finish(alerts), 0);
	assert_non_null(strstr(told, "1000 web firing 0"));
}

PAST_TEST(past_alerts_reject_excess_recorders)
{
	char id[16];

	begin("sum(cpu) > 5ns");
	for (int i = 0; i < PAST_RECORDERS_MAX; i++) {
		(void)snprintf(id, sizeof(id), "%d:1", i);
		cpu(id, "web", 1000, 3);
	}
	cpu("0:2", "web", 1000, 3);
	assert_int_equal(try_cpu("x:1", "web", 1000, 3), -E2BIG);
}

static const struct record_view *view_of_recorder(size_t number)
{
	char id[16];
	struct self_record self = {
		.common = { .wall_ns = START_NS, .record_id = id, .host_name = "web", .pid = 1 }
	};

	(void)snprintf(id, sizeof(id), "%zu:1", number);
	return view_of(RECORD_KIND_SELF, &self);
}

PAST_TEST(past_alerts_return_enomem_without_memory)
{
	const struct record_view *view;
	size_t failures = 0;
	int r;

	begin("max(cpu) > 5ns");
	view = view_of_recorder(0);
	assert_each_allocation_can_fail(past_alerts_add(alerts, view),
					view = view_of_recorder(++failures));
	assert_true(failures > 3);
	memory_fails_after(0);
	r = past_alerts_new(set, &(struct filter){ 0 }, tell, told, &alerts);
	memory_never_fails();
	assert_int_equal(r, -ENOMEM);
	past_alerts_free(NULL);
}
