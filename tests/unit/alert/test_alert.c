/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>

#include "unit_test.h"

#include "base/random.h"
#include "failing_memory.h"
#include "told.h"

UNIT_TEST_ALONE;

static struct alert *alert;
static struct alert_books books;

static int tear_down(void **state)
{
	(void)state;
	alert_free(alert);
	alert = NULL;
	books = (struct alert_books){ 0 };
	told[0] = '\0';
	return 0;
}

static void begin(const char *text)
{
	struct alert_expression expression;
	struct alert_error error;

	(void)tear_down(NULL);
	assert_int_equal(alert_expression_parse(text, &expression, &error), 0);
	assert_int_equal(alert_new(&expression, &alert), 0);
	assert_string_equal(alert_expression(alert)->text, text);
}

static int try_request(const char *value, int64_t cpu_ns, int64_t wall_ns)
{
	struct costs costs = { .record_count = 1,
			       .first_ns = 1000,
			       .last_ns = 1000 + wall_ns,
			       .missing = 1U << COST_KERNEL };

	costs.sums[COST_CPU] = cpu_ns;
	return alert_add_request(alert, (struct record_text){ value, strlen(value) }, &costs);
}

static void request(const char *value, int64_t cpu_ns)
{
	assert_int_equal(try_request(value, cpu_ns, 5), 0);
}

static void charge(const char *value, int64_t cpu_ns, bool is_attributed)
{
	struct request_charge used = { .value = { value, strlen(value) },
				       .is_attributed = is_attributed,
				       .costs = { .missing = 1U << COST_KERNEL } };

	used.costs.sums[COST_CPU] = cpu_ns;
	assert_int_equal(alert_add_charge(alert, &used), 0);
}

static void end_window(int64_t start_ms, int64_t end_ms)
{
	struct alert_window window = window_of(start_ms, end_ms);

	alert_end_window(alert, &window, &books, tell, NULL);
}

#define ALERT_TEST(test) TEST_WITH(test, NULL, tear_down)

ALERT_TEST(alert_times_include_clock_adjustment)
{
	struct alert_window window = window_of(1000, 2000);

	begin("max(cpu) > 50ns");
	window.clock_set_ns = -300 * (int64_t)NS_PER_MS;
	request("", 51);
	alert_end_window(alert, &window, &books, tell, NULL);
	expect_told("1700 firing 51 since 700|");
}

ALERT_TEST(alert_without_duration_fires_after_one_window)
{
	begin("max(cpu) > 50ns");
	request("", 50);
	end_window(0, 1000);
	expect_told("");
	request("", 7);
	request("", 51);
	end_window(1000, 2000);
	expect_told("2000 firing 51 since 1000|");
	request("", 60);
	end_window(2000, 3000);
	expect_told("");
	request("", 50);
	end_window(3000, 4000);
	expect_told("4000 resolved 50 since 3000|");
	end_window(4000, 5000);
	expect_told("");
}

ALERT_TEST(alert_fires_only_after_condition_holds_throughout)
{
	begin("max(cpu) > 50ns for 3s");
	for (int i = 0; i < 2; i++) {
		request("", 60);
		end_window(1000 * i, 1000 * i + 1000);
	}
	request("", 40);
	end_window(2000, 3000);
	for (int i = 3; i < 5; i++) {
		request("", 60);
		end_window(1000 * i, 1000 * i + 1000);
		expect_told("");
	}
	request("", 70);
	end_window(5000, 6000);
	expect_told("6000 firing 70 since 3000|");
}

ALERT_TEST(alert_ignores_value_alternating_around_limit)
{
	begin("max(cpu) > 50ns for 2s");
	for (int i = 0; i < 2; i++) {
		request("", 60);
		end_window(1000 * i, 1000 * i + 1000);
	}
	expect_told("2000 firing 60 since 0|");
	for (int i = 2; i < 20; i++) {
		request("", i % 2 ? 60 : 40);
		end_window(1000 * i, 1000 * i + 1000);
	}
	expect_told("");
	request("", 40);
	end_window(20000, 21000);
	expect_told("");
	request("", 30);
	end_window(21000, 22000);
	expect_told("22000 resolved 30 since 20000|");
	for (int i = 22; i < 40; i++) {
		request("", i % 2 ? 60 : 40);
		end_window(1000 * i, 1000 * i + 1000);
	}
	expect_told("");
}

/* A recorder's windows of a second end some ms too early, or too late. */
ALERT_TEST(alert_duration_tolerates_jitter_of_window_length)
{
	begin("max(cpu) > 50ns for 1s");
	request("", 60);
	end_window(0, 956);
	expect_told("956 firing 60 since 0|");
	begin("max(cpu) > 50ns for 2s");
	request("", 60);
	end_window(0, 1050);
	expect_told("");
	request("", 60);
	end_window(1050, 1990);
	expect_told("1990 firing 60 since 0|");
	request("", 40);
	end_window(1990, 3000);
	request("", 40);
	end_window(3000, 3960);
	expect_told("3960 resolved 40 since 1990|");
}

/* Of the last window an eighth may be lacking, and no more. */
ALERT_TEST(alert_jitter_tolerance_is_one_eighth_of_last_window)
{
	begin("max(cpu) > 50ns for 1s");
	request("", 60);
	end_window(0, 888);
	expect_told("");
	request("", 60);
	end_window(888, 890);
	expect_told("");
	begin("max(cpu) > 50ns for 1s");
	request("", 60);
	end_window(0, 889);
	expect_told("889 firing 60 since 0|");
}

/* An empty one may be too long, too. */
ALERT_TEST(alert_pending_survives_empty_overlong_window)
{
	begin("max(cpu) > 50ns for 3s");
	request("", 60);
	end_window(0, 1000);
	end_window(1000, 2000);
	end_window(2000, 3000);
	end_window(3000, 4100);
	request("", 60);
	end_window(4100, 5100);
	expect_told("5100 firing 60 since 0|");
}

ALERT_TEST(alert_empty_windows_expire_pending_and_firing_state)
{
	begin("max(cpu) > 50ns for 3s");
	end_window(0, 1000);
	request("", 60);
	end_window(1000, 2000);
	/* What held waits, for as long as the duration. */
	end_window(2000, 3000);
	end_window(3000, 4000);
	expect_told("");
	request("", 60);
	end_window(4000, 5000);
	expect_told("5000 firing 60 since 1000|");
	/* What fires waits longer. */
	for (int i = 5; i < 34; i++)
		end_window(1000 * i, 1000 * i + 1000);
	expect_told("");
	end_window(34000, 35000);
	expect_told("35000 resolved none since 5000|");
	request("", 60);
	end_window(35000, 36000);
	for (int i = 36; i < 40; i++)
		end_window(1000 * i, 1000 * i + 1000);
	/* That was too long: it begins anew. */
	request("", 60);
	end_window(40000, 41000);
	expect_told("");
	request("", 60);
	end_window(41000, 42000);
	expect_told("");
	request("", 60);
	end_window(42000, 43000);
	expect_told("43000 firing 60 since 40000|");
}

ALERT_TEST(alert_pending_survives_empty_windows_up_to_duration)
{
	begin("max(cpu) > 50ns for 3s");
	request("", 60);
	end_window(0, 1000);
	end_window(1000, 2000);
	end_window(2000, 3000);
	end_window(3000, 4000);
	request("", 60);
	end_window(4000, 5000);
	expect_told("5000 firing 60 since 0|");
}

ALERT_TEST(alert_restarts_after_gap_or_clock_step_back)
{
	begin("max(cpu) > 50ns for 2s");
	request("", 60);
	end_window(0, 1000);
	request("", 60);
	end_window(2001, 3001);
	expect_told("");
	request("", 60);
	end_window(3001, 4001);
	expect_told("4001 firing 60 since 2001|");
	request("", 40);
	end_window(4001, 5001);
	/* As long as a window, it is none: clocks are corrected. */
	request("", 40);
	end_window(6001, 7001);
	expect_told("7001 resolved 40 since 4001|");
	request("", 60);
	end_window(7001, 8001);
	/* The clock was set back. */
	request("", 60);
	end_window(7000, 8000);
	expect_told("");
	request("", 60);
	end_window(8000, 9000);
	expect_told("9000 firing 60 since 7000|");
	end_window(8000, 9000);
	expect_told("");
	/* Nor is what fires over in an older window without a request. */
	end_window(6000, 7000);
	expect_told("");
	begin("max(cpu) > 50ns for 1500ms");
	request("", 60);
	end_window(0, 1000);
	request("", 60);
	end_window(500, 1000);
	request("", 60);
	end_window(1000, 1600);
	expect_told("");
}

ALERT_TEST(alert_evaluates_each_key_value_separately)
{
	begin("mean(cpu) > 50ns for 2s by e");
	for (int i = 0; i < 2; i++) {
		request("dear", 60);
		request("cheap", 50);
		request("", 90);
		request("", 50);
		end_window(1000 * i, 1000 * i + 1000);
	}
	expect_told("2000 firing [dear] 60 since 0|2000 firing [] 70 since 0|");
	request("", 51);
	request("cheap", 50);
	end_window(2000, 3000);
	for (int i = 3; i < 5; i++) {
		expect_told("");
		request("dear", 50);
		request("", 51);
		end_window(1000 * i, 1000 * i + 1000);
	}
	expect_told("5000 resolved [dear] 50 since 3000|");
}

static unsigned int seeds;

uint64_t random_seed(void)
{
	return ++seeds;
}

/* Whoever names things cannot choose which of them collide. */
ALERT_TEST(alert_seeds_hash_table_randomly)
{
	begin("max(cpu) > 1ns by e");
	seeds = 0;
	begin("max(cpu) > 1ns by e");
	assert_int_equal(seeds, 1);
}

ALERT_TEST(alert_without_key_merges_all_requests)
{
	begin("count(requests) > 1");
	request("a", 1);
	request("b", 1);
	end_window(0, 1000);
	expect_told("1000 firing 2 since 0|");
}

ALERT_TEST(alert_counts_and_sums_without_allocation)
{
	static const char *const texts[] = { "count(requests) > 1", "rate(requests) > 1",
					     "sum(wall) > 1s" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		begin(texts[i]);
		memory_fails_after(0);
		request("", 1);
		memory_never_fails();
	}
}

ALERT_TEST(alert_merges_values_with_same_escaped_form)
{
	begin("sum(cpu) > 50ns by endpoint");
	charge("a\n", 30, true);
	charge("a\\x0a", 30, true);
	end_window(0, 1000);
	expect_told("1000 firing [a\\x0a] 60 since 0|");
	charge("\xc3\xa9t\xc3\xa9", 60, true);
	end_window(1000, 2000);
	expect_told("2000 resolved [a\\x0a] 0 since 1000|"
		    "2000 firing [\xc3\xa9t\xc3\xa9] 60 since 1000|");
}

ALERT_TEST(alert_folds_series_beyond_maximum_into_other)
{
	char name[16];

	begin("count(requests) >= 9 by endpoint");
	for (int i = 0; i < ALERT_SERIES_MAX + 9; i++) {
		(void)snprintf(name, sizeof(name), "e%d", i);
		request(name, 1);
	}
	end_window(0, 1000);
	expect_told("1000 firing [other] 9 since 0|");
	/* What is quiet makes room. */
	for (int i = 0; i < 9; i++)
		request("late", 1);
	end_window(1000, 2000);
	expect_told("2000 resolved [other] 0 since 1000|2000 firing [late] 9 since 1000|");
}

ALERT_TEST(alert_functions_compute_expected_values)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "p50(cpu) > 0ns", "1000 firing 1 since 0|" },
		{ "p90(cpu) > 0ns", "1000 firing 2 since 0|" },
		{ "p99(cpu) > 0ns", "1000 firing 3 since 0|" },
		{ "mean(cpu) > 0ns", "1000 firing 1 since 0|" },
		{ "max(cpu) > 0ns", "1000 firing 4 since 0|" },
		{ "max(wall) > 0ns", "1000 firing 5 since 0|" },
		{ "count(requests) > 0", "1000 firing 100 since 0|" },
		{ "rate(requests) > 0", "1000 firing 100000000 since 0|" },
		{ "sum(wall) > 0ns", "1000 firing 500 since 0|" },
		/* Of what was used, there is none; of what is not measured, nothing. */
		{ "sum(cpu) >= 0ns", "1000 firing 0 since 0|" },
		{ "max(kernel) >= 0ns", "" },
		{ "lost >= 0", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].text);
		for (int rank = 1; rank <= 100; rank++)
			request("", rank <= 50 ? 1 : rank <= 90 ? 2 : rank <= 99 ? 3 : 4);
		end_window(0, 1000);
		expect_told(cases[i].expected);
	}
}

ALERT_TEST(alert_cpu_sum_and_rate_use_attributed_charges_only)
{
	begin("rate(cpu) > 150%");
	charge("", 2000000000, true);
	charge("", 1500000000, true);
	charge("", 9000000000, false);
	request("", 1000);
	end_window(0, 2000);
	expect_told("2000 firing 1750000 since 0|");
	charge("", 3000000000, true);
	end_window(2000, 4000);
	expect_told("4000 resolved 1500000 since 2000|");
	begin("sum(kernel) >= 0ns by endpoint");
	charge("a", 5, true);
	end_window(0, 1000);
	expect_told("");
	/* Kernel time was not measured; where nothing was used, it is none. */
	begin("sum(kernel) >= 0ns");
	charge("", 5, true);
	end_window(0, 1000);
	expect_told("");
	end_window(1000, 2000);
	expect_told("2000 firing 0 since 1000|");
	begin("sum(wall) > 0ns");
	charge("", 5, true);
	end_window(0, 1000);
	expect_told("");
	begin("rate(wall) > 50%");
	assert_int_equal(try_request("", 1, 750000000), 0);
	end_window(0, 1000);
	expect_told("1000 firing 750000 since 0|");
	begin("max(cpu) > 0ns");
	charge("", 5, true);
	end_window(0, 1000);
	expect_told("");
}

ALERT_TEST(alert_rate_is_divided_by_window_length)
{
	begin("rate(requests) > 7");
	for (int i = 0; i < 4; i++)
		request("", 1);
	end_window(0, 500);
	expect_told("500 firing 8000000 since 0|");
	/* Of no length there is none. */
	begin("rate(requests) >= 0");
	request("", 1);
	end_window(500, 500);
	expect_told("");
	begin("rate(cpu) > 0");
	charge("", INT64_MAX, true);
	charge("", INT64_MAX, true);
	end_window(0, 1);
	expect_told("1 firing 9223372036854775807 since 0|");
}

ALERT_TEST(alert_count_is_zero_in_window_without_requests)
{
	begin("count(requests) < 1 for 2s");
	end_window(0, 1000);
	end_window(1000, 2000);
	expect_told("2000 firing 0 since 0|");
	begin("count(requests) < 1 by e");
	end_window(0, 1000);
	request("a", 1);
	end_window(1000, 2000);
	expect_told("");
	begin("count(requests) < 2 for 2s by endpoint");
	request("a", 1);
	end_window(0, 1000);
	end_window(1000, 2000);
	expect_told("2000 firing [a] 0 since 0|");
}

ALERT_TEST(alert_evaluates_balance_and_self_figures)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "exec > 0ns", "1000 firing 1000 since 0|" },
		{ "attributed > 0ns", "1000 firing 600 since 0|" },
		{ "unattributed > 0ns", "1000 firing 300 since 0|" },
		{ "unattributed > 0%", "1000 firing 300000 since 0|" },
		{ "overflow > 0ns", "1000 firing 90 since 0|" },
		{ "residual > 0ns", "1000 firing 10 since 0|" },
		{ "residual > 0.9%", "1000 firing 10000 since 0|" },
		{ "residual > 1%", "" },
		{ "own_cpu > 0ns", "1000 firing 20000000 since 0|" },
		{ "own_cpu > 0%", "1000 firing 20000 since 0|" },
		{ "lost > 0", "1000 firing 15 since 0|" },
		{ "events_lost > 0", "1000 firing 7 since 0|" },
		{ "boundaries_busy > 0", "1000 firing 5 since 0|" },
		{ "contexts_full >= 0", "1000 firing 0 since 0|" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].text);
		books = (struct alert_books){ .has_balance = true,
					      .exec_ns = 1000,
					      .attributed_ns = 600,
					      .unattributed_ns = 300,
					      .overflow_ns = 90,
					      .residual_ns = 10,
					      .has_own_cpu = true,
					      .own_cpu_ns = 20000000,
					      .dropped_records = 3 };
		books.losses[COUNTER_EVENTS_LOST] = 7;
		books.losses[0] = 5;
		end_window(0, 1000);
		expect_told(cases[i].expected);
	}
}

ALERT_TEST(alert_does_not_fire_without_balance_or_self_record)
{
	begin("unattributed <= 0ns");
	books.has_own_cpu = true;
	end_window(0, 1000);
	expect_told("");
	books.has_balance = true;
	end_window(1000, 2000);
	expect_told("2000 firing 0 since 1000|");
	begin("unattributed <= 0%");
	books.has_balance = true;
	end_window(0, 1000);
	expect_told("");
	books.exec_ns = 1;
	end_window(1000, 2000);
	expect_told("2000 firing 0 since 1000|");
	begin("own_cpu <= 0ns");
	books.has_balance = true;
	end_window(0, 1000);
	expect_told("");
	begin("lost <= 0");
	end_window(0, 1000);
	expect_told("");
	books.has_own_cpu = true;
	end_window(1000, 2000);
	expect_told("2000 firing 0 since 1000|");
	begin("lost <= 0");
	books.has_balance = true;
	end_window(0, 1000);
	expect_told("1000 firing 0 since 0|");
	begin("events_lost <= 0");
	books.has_own_cpu = true;
	end_window(0, 1000);
	expect_told("");
}

ALERT_TEST(alert_fails_with_enomem_when_allocation_fails)
{
	struct alert_expression expression;
	struct alert_error error;
	struct alert *another;
	size_t failures = 0;
	int r;

	assert_int_equal(alert_expression_parse("max(cpu) > 1ns", &expression, &error), 0);
	assert_each_allocation_can_fail(alert_new(&expression, &another), failures++);
	assert_true(failures > 1);
	alert_free(another);
	begin("max(cpu) > 1ns by endpoint");
	failures = 0;
	assert_each_allocation_can_fail(try_request("a", 60, 5), failures++);
	assert_true(failures > 1);
	begin("sum(cpu) > 1ns by endpoint");
	memory_fails_after(0);
	r = alert_add_charge(alert, &(struct request_charge){ .is_attributed = true });
	memory_never_fails();
	assert_int_equal(r, -ENOMEM);
	alert_free(NULL);
}
