/* SPDX-License-Identifier: GPL-2.0-only */
/* What becomes of a change: a record, a line, and no more lines than people read. */
#include "recorder/observe/output/alerting.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "ears.h"
#include "failing_memory.h"

UNIT_TEST_ALONE;

static struct output output;
static struct alerting alerting;
static struct alert_set *set;
static char taken[8192], said[16384];
static int take_error;

/* recorder/observe/output/output.h: what it is given. */
int output_add_kind(struct output *to, uint64_t wall_ns, enum record_kind kind, void *record)
{
	const struct alert_record *alert = record;
	size_t length = strlen(taken);

	assert_ptr_equal(to, &output);
	assert_int_equal(kind, RECORD_KIND_ALERT);
	length += (size_t)snprintf(taken + length, sizeof(taken) - length, "%d %s %s [%s=%s] ",
				   (int)wall_ns, alert->expression, alert->state,
				   alert->by_key ? alert->by_key : "none",
				   alert->by_value ? alert->by_value : "none");
	(void)snprintf(taken + length, sizeof(taken) - length, "%d:%d/%d %s %d|", alert->has_value,
		       (int)alert->value, (int)alert->threshold, alert->unit, (int)alert->since_ns);
	return take_error;
}

static void watch(const char *text)
{
	struct alert_expression expression;
	struct alert_error error;

	assert_int_equal(alert_expression_parse(text, &expression, &error), 0);
	assert_int_equal(alert_set_add(set, &expression), 0);
}

static int begin(void **state)
{
	(void)state;
	taken[0] = said[0] = '\0';
	take_error = 0;
	set = alert_set_new();
	alerting_init(&alerting, set, NULL);
	return set ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	memory_never_fails();
	alerting_deinit(&alerting);
	alert_set_free(set);
	return 0;
}

static void charge(const char *endpoint, uint64_t cpu_ns)
{
	struct record_key keys[] = { { "request_id", endpoint }, { "endpoint", endpoint } };
	struct cpu_record record = { .keys = keys, .keys_count = 2, .cpu_ns = cpu_ns };

	assert_int_equal(alert_set_add_record(set, RECORD_KIND_CPU, &record), 0);
}

static int end_window(uint64_t start_ns, uint64_t end_ns, bool is_last)
{
	struct alert_window window = { start_ns, end_ns, 0, 0 };
	struct ears ears = ears_open();
	int r = alerting_end_window(&alerting, &output, &window, is_last);

	ears_close(&ears, said, sizeof(said));
	return r;
}

#define ALERTING_TEST(test) TEST_WITH(test, begin, end)

ALERTING_TEST(alerting_records_and_logs_each_change)
{
	watch("sum(cpu) > 5ns by endpoint");
	watch("own_cpu >= 0ns");
	charge("GET /", 6);
	assert_int_equal(end_window(100, 200, false), 0);
	assert_string_equal(taken,
			    "200 sum(cpu) > 5ns by endpoint firing [endpoint=GET /] 1:6/5 ns 100|");
	assert_string_equal(said, "correlator: warning: alert firing: sum(cpu) > 5ns by endpoint: "
				  "endpoint=GET /: is at 6 ns\n");
	taken[0] = '\0';
	assert_int_equal(alert_set_add_record(set, RECORD_KIND_SELF, &(struct self_record){ 0 }),
			 0);
	assert_int_equal(end_window(200, 300, false), 0);
	assert_string_equal(taken,
			    "300 sum(cpu) > 5ns by endpoint resolved [endpoint=GET /] 1:0/5 ns 200|"
			    "300 own_cpu >= 0ns firing [none=none] 1:0/0 ns 200|");
	assert_non_null(strstr(said, "alert resolved: sum(cpu)"));
	taken[0] = '\0';
	assert_int_equal(end_window(300, 400, false), 0);
	assert_string_equal(taken, "400 own_cpu >= 0ns resolved [none=none] 0:0/0 ns 300|");
}

ALERTING_TEST(alerting_closes_open_requests_at_end)
{
	watch("max(cpu) > 5ns");
	charge("a", 6);
	assert_int_equal(end_window(100, 200, false), 0);
	assert_string_equal(taken, "");
	assert_int_equal(end_window(200, 300, true), 0);
	assert_string_equal(taken, "300 max(cpu) > 5ns firing [none=none] 1:6/5 ns 100|");
}

ALERTING_TEST(alerting_limits_log_lines_per_window)
{
	char name[16];
	size_t lines = 0;

	watch("sum(cpu) > 5ns by endpoint");
	for (int i = 0; i < 19; i++) {
		(void)snprintf(name, sizeof(name), "e%d", i);
		charge(name, 6);
	}
	assert_int_equal(end_window(100, 200, false), 0);
	for (const char *line = said; (line = strstr(line, "alert firing")); line++)
		lines++;
	assert_int_equal(lines, 16);
	assert_non_null(strstr(said, "alerts: 3 more changes in this window"));
	assert_non_null(strstr(taken, "=e18]"));
	taken[0] = '\0';
	for (int i = 3; i < 19; i++) {
		(void)snprintf(name, sizeof(name), "e%d", i);
		charge(name, 6);
	}
	for (int i = 19; i < 32; i++) {
		(void)snprintf(name, sizeof(name), "e%d", i);
		charge(name, 6);
	}
	assert_int_equal(end_window(200, 300, false), 0);
	assert_null(strstr(said, "more changes"));
}

ALERTING_TEST(alerting_returns_error_of_failed_record)
{
	watch("sum(cpu) > 5ns");
	charge("a", 6);
	take_error = -ENOMEM;
	assert_int_equal(end_window(100, 200, false), -ENOMEM);
	assert_non_null(strstr(said, "alert firing"));
}

ALERTING_TEST(alerting_logs_requests_missing_for_lack_of_memory)
{
	struct alert_window window = { 100, 200, 0, 0 };
	struct ears ears;
	size_t successes = 0;

	watch("max(cpu) > 5ns by endpoint");
	charge("a", 6);
	charge("b", 6);
	do {
		ears = ears_open();
		memory_fails_once_after(successes++);
		assert_int_equal(alerting_end_window(&alerting, &output, &window, true), 0);
		memory_never_fails();
		ears_close(&ears, said, sizeof(said));
		assert_true(successes < 20);
	} while (!strstr(said, "no memory: requests are missing"));
}

ALERTING_TEST(alerting_without_alerts_does_nothing)
{
	alerting_init(&alerting, NULL, NULL);
	assert_int_equal(end_window(100, 200, true), 0);
	assert_string_equal(said, "");
}
