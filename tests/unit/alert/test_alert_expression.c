/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "alert/alert_expression.h"

static struct alert_expression parse(const char *text)
{
	struct alert_expression expression;
	struct alert_error error;

	if (alert_expression_parse(text, &expression, &error) < 0)
		fail_msg("%s: at %zu: %s", text, error.offset, error.message);
	return expression;
}

TEST(expression_parses_measure_limit_duration_and_key)
{
	struct alert_expression expression = parse("p99(cpu) > 50ms for 30s by endpoint");

	assert_string_equal(expression.text, "p99(cpu) > 50ms for 30s by endpoint");
	assert_int_equal(expression.function, ALERT_P99);
	assert_int_equal(expression.figure, FIGURE_CPU);
	assert_int_equal(expression.comparison, ALERT_ABOVE);
	assert_int_equal(expression.unit, ALERT_NS);
	assert_int_equal(expression.limit, 50000000);
	assert_true(expression.for_ns == 30000000000);
	assert_string_equal(expression.key, "endpoint");
}

TEST(expression_ignores_spaces_and_order_of_clauses)
{
	struct alert_expression expression =
		parse(" \tp50 ( wall )<=1.5 us by otel.http.route\tfor 5m ");

	assert_int_equal(expression.function, ALERT_P50);
	assert_int_equal(expression.figure, FIGURE_WALL);
	assert_int_equal(expression.comparison, ALERT_AT_MOST);
	assert_int_equal(expression.limit, 1500);
	assert_true(expression.for_ns == 300000000000);
	assert_string_equal(expression.key, "otel.http.route");
	assert_string_equal(parse("max(cpu)>1s by \xc3\xa9").text, "max(cpu)>1s by \xc3\xa9");
	expression = parse("lost>0");
	assert_string_equal(expression.text, "lost>0");
	assert_int_equal(expression.for_ns, 0);
	assert_string_equal(expression.key, "");
	assert_int_equal(parse("max(cpu)>1ns for 2s").for_ns, 2000000000);
	assert_string_equal(parse("count(requests)>1 by endpoint").key, "endpoint");
	assert_string_equal(parse("count(requests)>1by for").key, "for");
}

TEST(expression_parses_each_measure_and_unit)
{
	static const struct {
		const char *text;
		enum alert_function function;
		unsigned int of;
		enum alert_unit unit;
		int64_t limit;
	} cases[] = {
		{ "p50(cpu) > 7ns", ALERT_P50, FIGURE_CPU, ALERT_NS, 7 },
		{ "p90(wall) > 7us", ALERT_P90, FIGURE_WALL, ALERT_NS, 7000 },
		{ "p99(user) > 7ms", ALERT_P99, FIGURE_USER, ALERT_NS, 7000000 },
		{ "mean(kernel) > 7s", ALERT_MEAN, FIGURE_KERNEL, ALERT_NS, 7000000000 },
		{ "max(run_queue) > 7ns", ALERT_MAX, FIGURE_RUN_QUEUE, ALERT_NS, 7 },
		{ "sum(blocked) > 7ns", ALERT_SUM, FIGURE_BLOCKED, ALERT_NS, 7 },
		{ "rate(cpu) > 150%", ALERT_RATE, FIGURE_CPU, ALERT_MILLIONTHS, 1500000 },
		{ "rate(wall) > 1.5", ALERT_RATE, FIGURE_WALL, ALERT_MILLIONTHS, 1500000 },
		{ "count(requests) > 7", ALERT_COUNT_REQUESTS, FIGURE_CPU, ALERT_COUNT, 7 },
		{ "rate(requests) > 0.5", ALERT_RATE_REQUESTS, FIGURE_CPU,
		  ALERT_MILLIONTHS_PER_SECOND, 500000 },
		{ "p99(parked) > 7us", ALERT_P99, FIGURE_PARKED, ALERT_NS, 7000 },
		{ "sum(gvl) > 7ns", ALERT_SUM, FIGURE_GVL, ALERT_NS, 7 },
		{ "max(blocked_disk) > 7ns", ALERT_MAX, FIGURE_BLOCKED_DISK, ALERT_NS, 7 },
		{ "exec > 7ms", ALERT_TOTAL, ALERT_EXEC, ALERT_NS, 7000000 },
		{ "attributed > 7%", ALERT_TOTAL, ALERT_ATTRIBUTED, ALERT_MILLIONTHS, 70000 },
		{ "unattributed > 7s", ALERT_TOTAL, ALERT_UNATTRIBUTED, ALERT_NS, 7000000000 },
		{ "overflow > 0.0001 %", ALERT_TOTAL, ALERT_OVERFLOW, ALERT_MILLIONTHS, 1 },
		{ "residual > 0ns", ALERT_TOTAL, ALERT_RESIDUAL, ALERT_NS, 0 },
		{ "own_cpu > 2%", ALERT_TOTAL, ALERT_OWN_CPU, ALERT_MILLIONTHS, 20000 },
		{ "lost > 7", ALERT_TOTAL, ALERT_LOST, ALERT_COUNT, 7 },
		{ "boundaries_busy > 7", ALERT_TOTAL, ALERT_COUNTER, ALERT_COUNT, 7 },
		{ "events_lost > 7", ALERT_TOTAL, ALERT_COUNTER + COUNTER_EVENTS_LOST, ALERT_COUNT,
		  7 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct alert_expression expression = parse(cases[i].text);

		assert_int_equal(expression.function, cases[i].function);
		assert_int_equal(expression.function == ALERT_TOTAL ? expression.total
								    : expression.figure,
				 cases[i].of);
		assert_int_equal(expression.unit, cases[i].unit);
		assert_true(expression.limit == cases[i].limit);
	}
}

TEST(expression_comparison_holds_at_its_bounds)
{
	static const struct {
		const char *text;
		bool below, at, above;
	} cases[] = {
		{ "lost > 5", false, false, true },
		{ "lost >= 5", false, true, true },
		{ "lost < 5", true, false, false },
		{ "lost <= 5", true, true, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct alert_expression expression = parse(cases[i].text);

		assert_int_equal(alert_expression_holds(&expression, 4), cases[i].below);
		assert_int_equal(alert_expression_holds(&expression, 5), cases[i].at);
		assert_int_equal(alert_expression_holds(&expression, 6), cases[i].above);
	}
}

TEST(expression_classifies_measures_of_whole_requests)
{
	static const char *const whole[] = { "p50(cpu)>1s",	  "p99(wall)>1s",
					     "mean(user)>1s",	  "max(blocked)>1s",
					     "count(requests)>1", "rate(requests)>1",
					     "sum(wall)>1s",	  "rate(wall)>1" };
	static const char *const parts[] = { "sum(cpu)>1s", "rate(kernel)>1", "lost>1", "exec>1s",
					     "events_lost>1" };

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		struct alert_expression expression = parse(whole[i]);

		assert_true(alert_expression_is_of_requests(&expression));
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct alert_expression expression = parse(parts[i]);

		assert_false(alert_expression_is_of_requests(&expression));
	}
}

TEST(expression_parses_numbers_exactly)
{
	static const struct {
		const char *text;
		int64_t limit;
	} cases[] = {
		{ "max(cpu) > 0.000000001s", 1 },
		{ "max(cpu) > 1.000000000000ns", 1 },
		{ "max(cpu) > 9223372036854775807ns", INT64_MAX },
		{ "max(cpu) > 9223372036.854775807s", INT64_MAX },
		{ "max(cpu) > 2.5us", 2500 },
		{ "max(cpu) > 007ns", 7 },
		{ "max(cpu) > 7.ns", 7 },
		{ "lost > 12.0", 12 },
		{ "rate(cpu) > 0.000001", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(parse(cases[i].text).limit == cases[i].limit);
}

/* A ^ in the text stands before the byte that is not expected. */
static void refuses(const char *marked, const char *says)
{
	struct alert_expression expression = { .limit = 42 };
	struct alert_error error = { 0 };
	char text[600];
	const char *mark = strchr(marked, '^');
	size_t offset = (size_t)(mark - marked);

	(void)snprintf(text, sizeof(text), "%.*s%s", (int)offset, marked, mark + 1);
	assert_int_equal(alert_expression_parse(text, &expression, &error), -EINVAL);
	assert_int_equal(expression.limit, 42);
	if (error.offset != offset || !strstr(error.message, says))
		fail_msg("%s: at %zu: %s", marked, error.offset, error.message);
}

TEST(expression_reports_error_with_its_offset)
{
	static const char *const cases[][2] = {
		{ "^", "not a measure: p50, p90" },
		{ "  ^", "not a measure" },
		{ "^p98(cpu) > 1ms", "not a measure" },
		{ "^cpu > 1ms", "not a measure" },
		{ "^P99(cpu) > 1ms", "not a measure" },
		{ "^\x01\xff\n", "not a measure" },
		{ "p99 ^> 1ms", "p99 wants a figure in (): p99(cpu)" },
		{ "count ^> 1", "count wants a figure in (): count(requests)" },
		{ "count(^cpu) > 1", "what is counted are requests" },
		{ "p99(^requests) > 1", "requests are counted" },
		{ "sum(^requests) > 1", "requests are counted" },
		{ "p99(^) > 1ms", "of what? One of cpu, user" },
		{ "p99(^syscalls) > 1ms", "of what?" },
		{ "rate(^x) > 1", "of what?" },
		{ "p99(cpu ^> 1ms", "a ) is missing" },
		{ "p99(cpu) ^= 1ms", "not a comparison: >, >=, < or <=" },
		{ "p99(cpu) ^", "not a comparison" },
		{ "lost ^!= 1", "not a comparison" },
		{ "p99(cpu) > ^", "a number is wanted" },
		{ "p99(cpu) > ^-1ms", "a number is wanted" },
		{ "p99(cpu) > ^.5ms", "a number is wanted" },
		{ "p99(cpu) > ^inf", "a number is wanted" },
		{ "p99(cpu) >= ^= 1ms", "a number is wanted" },
		{ "p99(cpu) > 50^", "a time wants a unit: ns, us, ms or s" },
		{ "p99(cpu) > 50 ^for 30s", "a time wants a unit" },
		{ "p99(cpu) > 50^%", "a time wants a unit" },
		{ "p99(cpu) > 50 ^m", "a time wants a unit" },
		{ "p99(cpu) > 50^mss", "a time wants a unit" },
		{ "exec > 50^%", "a time wants a unit: ns, us, ms or s" },
		{ "unattributed > 20^", "ms or s; or a share, %" },
		{ "lost > 1^%", "it is counted: a number without a unit" },
		{ "lost > 1^ms", "it is counted" },
		{ "count(requests) > 1 ^s", "it is counted" },
		{ "rate(requests) > 1^%", "it is counted" },
		{ "rate(cpu) > 1^ms", "a rate of time is a share, such as 150 %" },
		{ "max(cpu) > ^9223372036854775808ns", "too large" },
		{ "max(cpu) > ^9223372036854775807us", "too large" },
		{ "max(cpu) > ^99999999999999999999999ns", "too large" },
		{ "max(cpu) > ^1.99999999999999999999ns", "too many digits" },
		{ "max(cpu) > ^1.5ns", "finer than what is measured" },
		{ "max(cpu) > ^0.0000000001s", "finer" },
		{ "lost > ^0.5", "finer" },
		{ "rate(cpu) > ^0.00001%", "finer" },
		{ "lost > 1 ^and lost > 2", "only `for DURATION' or `by KEY'" },
		{ "lost > 1 ^; rm -rf /", "only `for DURATION'" },
		{ "lost > 1 ^forever", "only `for DURATION'" },
		{ "lost > 1 for ^", "not a duration" },
		{ "lost > 1 for ^0s", "not a duration" },
		{ "lost > 1 for ^soon", "not a duration" },
		{ "lost > 1 for ^-5s", "not a duration" },
		{ "lost > 1 for ^1111111111111111111111111111111s", "not a duration" },
		{ "lost > 1 for 5s for ^6s", "a duration already" },
		{ "max(cpu) > 1s by ^", "a key is wanted" },
		{ "max(cpu) > 1s by a by ^b", "a key already" },
		{ "max(cpu) > 1s by ^a\x01z", "a key is wanted" },
		{ "max(cpu) > 1s by ^\x7f", "a key is wanted" },
		{ "lost > 1 by ^endpoint", "lost is of all there is" },
		{ "residual > 1ms by ^endpoint", "residual is of all there is" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuses(cases[i][0], cases[i][1]);
}

TEST(expression_limits_length_of_text_and_key)
{
	char text[600], marked[600], key[ALERT_KEY_BYTES + 1];
	struct alert_expression expression;
	struct alert_error error;

	memset(key, 'k', sizeof(key));
	key[ALERT_KEY_BYTES - 1] = '\0';
	(void)snprintf(text, sizeof(text), "max(cpu) > 1s by %s", key);
	assert_string_equal(parse(text).key, key);
	(void)snprintf(marked, sizeof(marked), "max(cpu) > 1s by ^%sk", key);
	refuses(marked, "a key is wanted");
	memset(text, ' ', sizeof(text));
	memcpy(text, "lost > 1", 8);
	text[ALERT_TEXT_BYTES - 1] = '\0';
	assert_int_equal(strlen(parse(text).text), ALERT_TEXT_BYTES - 1);
	text[ALERT_TEXT_BYTES - 1] = ' ';
	text[ALERT_TEXT_BYTES] = '\0';
	assert_int_equal(alert_expression_parse(text, &expression, &error), -EINVAL);
	assert_int_equal(error.offset, 0);
	assert_string_equal(error.message, "longer than 255 bytes");
	assert_true(parse("lost > 1 for 0000000000000000000000000000005").for_ns == 5000000000);
	refuses("lost > 1 for ^00000000000000000000000000000005", "not a duration");
}

/* Whatever it is, it ends, and says where. */
TEST(expression_accepts_or_rejects_random_text)
{
	static const char *const parts[] = { "p99",  "(",    ")",    "cpu",   "requests",
					     ">",    "<",    "=",    "1",     ".",
					     "ms",   "%",    " ",    "for ",  "by ",
					     "lost", "\xff", "\x01", "count", "rate" };
	unsigned int seed = 1;

	for (int i = 0; i < 20000; i++) {
		struct alert_expression expression;
		struct alert_error error = { .offset = SIZE_MAX };
		char text[200] = "";

		for (int j = rand_r(&seed) % 15; j > 0; j--)
			strcat(text,
			       parts[(size_t)rand_r(&seed) % (sizeof(parts) / sizeof(parts[0]))]);
		if (alert_expression_parse(text, &expression, &error) == 0)
			continue;
		assert_true(error.offset <= strlen(text));
		assert_true(error.message[0] != '\0');
	}
}

static void expect_printed(enum alert_unit unit, int64_t value, const char *expected)
{
	char text[64];

	alert_unit_print(unit, value, text, sizeof(text));
	assert_string_equal(text, expected);
}

TEST(alert_unit_prints_value_with_its_unit)
{
	expect_printed(ALERT_NS, 0, "0 ns");
	expect_printed(ALERT_NS, 999, "999 ns");
	expect_printed(ALERT_NS, 1000, "1 us");
	expect_printed(ALERT_NS, 61234567, "61.23 ms");
	expect_printed(ALERT_NS, 999999, "1000 us");
	expect_printed(ALERT_NS, 1000000000, "1 s");
	expect_printed(ALERT_NS, 90000000000, "90 s");
	expect_printed(ALERT_NS, 5000000000000, "5000 s");
	expect_printed(ALERT_COUNT, 1234567, "1234567");
	expect_printed(ALERT_MILLIONTHS, 513000, "51.3 %");
	expect_printed(ALERT_MILLIONTHS_PER_SECOND, 2500000, "2.5 a second");
	assert_string_equal(alert_unit_name(ALERT_NS), "ns");
	assert_string_equal(alert_unit_name(ALERT_COUNT), "count");
	assert_string_equal(alert_unit_name(ALERT_MILLIONTHS), "millionths");
	assert_string_equal(alert_unit_name(ALERT_MILLIONTHS_PER_SECOND), "millionths_per_second");
}
