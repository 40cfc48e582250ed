/* SPDX-License-Identifier: GPL-2.0-only */
/* Histograms of requests: what is counted where, and how it is given out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "base/clock.h"
#include "base/random.h"
#include "failing_memory.h"
#include "recorder/metrics/metrics_text.h"
#include "recorder/metrics/request_figures.h"
#include "requests/request_tracker.h"

UNIT_TEST_ALONE;

static struct request_metrics *requests;
static uint32_t pid = 1; /* whose requests come */

static int tear_down(void **state)
{
	(void)state;
	request_metrics_free(requests);
	requests = NULL;
	pid = 1;
	return 0;
}

static void begin(const char *key, size_t series_max)
{
	request_metrics_free(requests);
	requests = NULL;
	assert_int_equal(request_metrics_new(key, series_max, &requests), 0);
}

static int try_add(const char *id, const char *endpoint, uint64_t cpu_ns, uint64_t wall_ns)
{
	struct record_key keys[] = { { "request_id", id }, { "endpoint", endpoint } };

	return request_metrics_add_cpu(requests, &(struct cpu_record){ .common.pid = pid,
								       .keys = keys,
								       .keys_count = 2,
								       .cpu_ns = cpu_ns,
								       .first_ns = 1000,
								       .last_ns = 1000 + wall_ns });
}

static void add(const char *id, const char *endpoint, uint64_t cpu_ns, uint64_t wall_ns)
{
	assert_int_equal(try_add(id, endpoint, cpu_ns, wall_ns), 0);
}

static const struct request_series *series(size_t index)
{
	const struct request_figures *figures = request_metrics_figures(requests);

	assert_true(index < figures->series_count);
	return &figures->series[index];
}

static void expect_series(size_t index, const char *value, uint64_t count, uint64_t cpu_ns)
{
	assert_string_equal(series(index)->value, value);
	assert_int_equal(series(index)->cpu.count, count);
	assert_int_equal(series(index)->wall.count, count);
	assert_int_equal(series(index)->cpu.sum_ns, cpu_ns);
}

#define COUNTED(test) TEST_WITH(test, NULL, tear_down)

COUNTED(request_metrics_counts_ended_request_once_by_last_value)
{
	begin("endpoint", 5);
	request_metrics_end_window(requests, 1 * NS_PER_S);
	add("a", NULL, 1, 1);
	add("b", "B", 10, 1);
	request_metrics_end_window(requests, 2 * NS_PER_S);
	add("a", "A", 2, 7);
	request_metrics_end_window(requests, 3 * NS_PER_S);
	assert_int_equal(request_metrics_figures(requests)->series_count, 1);
	request_metrics_end_window(requests, 4 * NS_PER_S);
	assert_int_equal(request_metrics_figures(requests)->series_count, 2);
	expect_series(1, "B", 1, 10);
	request_metrics_end_window(requests, 5 * NS_PER_S);
	expect_series(2, "A", 1, 3);
	assert_int_equal(series(2)->wall.sum_ns, 7);
	add("b", "B", 100, 1);
	add("c", NULL, 5, 1);
	request_metrics_finish(requests);
	expect_series(1, "B", 2, 110);
	expect_series(3, "", 1, 5);
	expect_series(0, "other", 0, 0);
}

COUNTED(request_metrics_folds_excess_values_into_other)
{
	char name[16];

	begin("endpoint", 2);
	for (int i = 0; i < 10; i++) {
		(void)snprintf(name, sizeof(name), "e%d", i);
		add(name, name, 1, 1);
	}
	/* Somebody may be called so. */
	add("x", "other", 50, 1);
	request_metrics_finish(requests);
	assert_int_equal(request_metrics_figures(requests)->series_count, 3);
	expect_series(0, "other", 9, 58);
	expect_series(1, "e0", 1, 1);
	expect_series(2, "e1", 1, 1);
}

/* Requests of one process, each with a value of its own: PREFIX0, PREFIX1, ... */
static void bring(uint32_t whose, const char *prefix, int count)
{
	char name[16];

	pid = whose;
	for (int i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "%s%d", prefix, i);
		add(name, name, 1, 1);
	}
	request_metrics_finish(requests);
}

/* With blanks between them, in any order, beside the others'. */
static void expect_values(const char *expected)
{
	const struct request_figures *figures = request_metrics_figures(requests);
	size_t found = 0;

	assert_string_equal(figures->series[0].value, "other");
	for (const char *value = expected; *value; value += strspn(value, " ")) {
		size_t length = strcspn(value, " "), i = 1;

		while (i < figures->series_count &&
		       (strlen(figures->series[i].value) != length ||
			memcmp(figures->series[i].value, value, length) != 0))
			i++;
		if (i == figures->series_count)
			fail_msg("no series of %s", value);
		found++;
		value += length;
	}
	assert_int_equal(figures->series_count, found + 1);
}

static void expect_in_all(uint64_t count)
{
	const struct request_figures *figures = request_metrics_figures(requests);
	uint64_t cpu_count = 0, cpu_ns = 0, wall_ns = 0, buckets = 0;

	for (size_t i = 0; i < figures->series_count; i++) {
		cpu_count += figures->series[i].cpu.count;
		cpu_ns += figures->series[i].cpu.sum_ns;
		wall_ns += figures->series[i].wall.sum_ns;
		for (int bucket = 0; bucket < METRICS_BUCKETS; bucket++)
			buckets += figures->series[i].cpu.counts[bucket];
	}
	assert_int_equal(cpu_count, count);
	assert_int_equal(cpu_ns, count);
	assert_int_equal(wall_ns, count);
	assert_int_equal(buckets, count);
}

COUNTED(request_metrics_gives_late_process_its_share_of_series)
{
	begin("endpoint", 4);
	bring(1, "e", 6);
	expect_values("e0 e1 e2 e3");
	expect_series(0, "other", 2, 2);
	/* Used again: it is not the first to go. */
	bring(1, "e", 1);
	bring(2, "x", 3);
	expect_values("e0 e3 x0 x1");
	expect_series(0, "other", 5, 5);
	/* A value that has a series is found, whatever process brings it, and stays its first
	 * owner's. */
	bring(3, "x", 2);
	bring(3, "y", 2);
	expect_values("e0 y0 x0 x1");
	bring(4, "z", 2);
	expect_values("e0 y0 x1 z0");
	/* There is one for each now. */
	bring(5, "w", 1);
	expect_values("e0 y0 x1 z0");
	bring(1, "e", 2);
	expect_values("e0 y0 x1 z0");
	expect_in_all(6 + 1 + 3 + 2 + 2 + 2 + 1 + 2);
}

COUNTED(request_metrics_removes_series_idle_for_an_hour)
{
	const uint64_t begin_ns = 5 * NS_PER_S;

	begin("endpoint", 2);
	request_metrics_end_window(requests, begin_ns);
	bring(1, "a", 2);
	request_metrics_end_window(requests, begin_ns + METRICS_IDLE_NS / 2);
	bring(1, "a", 1);
	bring(2, "b", 1);
	expect_values("a0 b0");
	request_metrics_end_window(requests, begin_ns + METRICS_IDLE_NS + METRICS_IDLE_NS / 2 - 1);
	expect_values("a0 b0");
	request_metrics_end_window(requests, begin_ns + METRICS_IDLE_NS + METRICS_IDLE_NS / 2);
	expect_values("");
	expect_series(0, "other", 4, 4);
	/* Nobody has a share who has none of them. */
	bring(3, "c", 2);
	expect_values("c0 c1");
}

COUNTED(request_metrics_bucket_includes_its_upper_bound)
{
	static const double seconds[] = { 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
					  0.01,	  0.025,   0.05,   0.1,	  0.25,	  0.5,
					  1,	  2.5,	   5,	   10,	  30,	  60 };
	char id[16];

	for (int i = 0; i < METRICS_BUCKETS - 1; i++) {
		uint64_t ns = metrics_buckets[i].ns;

		assert_true(strtod(metrics_buckets[i].seconds, NULL) == seconds[i]);
		assert_int_equal((uint64_t)(seconds[i] * 1e9 + 0.5), ns);
		begin("endpoint", 1);
		(void)snprintf(id, sizeof(id), "%d", i);
		add(id, "E", ns, ns + 1);
		request_metrics_finish(requests);
		for (int j = 0; j < METRICS_BUCKETS; j++) {
			assert_int_equal(series(1)->cpu.counts[j], j == i);
			assert_int_equal(series(1)->wall.counts[j], j == i + 1);
		}
	}
	assert_string_equal(metrics_buckets[METRICS_BUCKETS - 1].seconds, "+Inf");
}

COUNTED(request_metrics_converts_key_to_valid_label)
{
	static const struct {
		const char *key, *label;
	} cases[] = {
		{ "endpoint", "endpoint" },
		{ "otel.http.route", "otel_http_route" },
		{ "le", "_le" },
		{ "lean", "lean" },
		{ "9lives", "_9lives" },
		{ "a-b c\"\n\xc3\xa4", "a_b_c____" },
		{ "_x0Z", "_x0Z" },
	};
	char longer[100];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].key, 1);
		assert_string_equal(request_metrics_figures(requests)->label, cases[i].label);
	}
	memset(longer, 'k', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	begin(longer, 1);
	assert_int_equal(strlen(request_metrics_figures(requests)->label), METRICS_LABEL_BYTES - 1);
}

COUNTED(request_metrics_escapes_control_characters_in_values)
{
	begin("endpoint", 2);
	add("a", "\xc3\xa9t\xc3\xa9\x1b", 1, 1);
	request_metrics_finish(requests);
	assert_string_equal(series(1)->value, "\xc3\xa9t\xc3\xa9\\x1b");
}

static char *text_of(void)
{
	struct metrics metrics;
	size_t size_bytes;
	char *text;

	metrics_init(&metrics, "1", 0);
	metrics.requests = request_metrics_figures(requests);
	assert_int_equal(metrics_text(&metrics, METRICS_FORMAT_OPENMETRICS, &text, &size_bytes), 0);
	return text;
}

/* Takes out what explains a family to people. */
static void take_help(char *text)
{
	char *line;

	while ((line = strstr(text, "# HELP "))) {
		char *next = strchr(line, '\n') + 1;

		memmove(line, next, strlen(next) + 1);
	}
}

COUNTED(request_metrics_escapes_hostile_values_and_merges_equals)
{
	static const char expected[] =
		"correlator_request_cpu_seconds_count{endpoint=\"GET \\\"\\\\\\\\x0a$(x)\"} 2\n"
		"correlator_request_cpu_seconds_sum{endpoint=\"GET \\\"\\\\\\\\x0a$(x)\"} "
		"0.000000003\n";
	_cleanup_free_ char *text = NULL;

	begin("endpoint", 5);
	add("a", "GET \"\\\n$(x)", 1, 1);
	add("b", "GET \"\\\\x0a$(x)", 2, 1);
	request_metrics_finish(requests);
	assert_int_equal(request_metrics_figures(requests)->series_count, 2);
	text = text_of();
	assert_non_null(strstr(text, expected));
}

COUNTED(request_metrics_truncates_long_values)
{
	char one[400], other[400];

	memset(one, 'x', sizeof(one));
	one[sizeof(one) - 1] = '\0';
	memcpy(other, one, sizeof(other));
	other[300] = 'y';
	begin("endpoint", 5);
	add("a", one, 1, 1);
	add("b", other, 1, 1);
	request_metrics_finish(requests);
	assert_int_equal(request_metrics_figures(requests)->series_count, 2);
	assert_int_equal(strlen(series(1)->value), METRICS_VALUE_BYTES - 1);
	assert_int_equal(series(1)->cpu.count, 2);
}

COUNTED(request_metrics_prints_cumulative_buckets)
{
	static const char expected[] =
		"# TYPE correlator_request_wall_seconds histogram\n"
		"# UNIT correlator_request_wall_seconds seconds\n"
		"correlator_request_wall_seconds_bucket{endpoint=\"other\",le=\"0.0001\"} 0\n";
	static const char of_cpu[] =
		"_bucket{endpoint=\"E\",le=\"0.5\"} 0\n"
		"correlator_request_cpu_seconds_bucket{endpoint=\"E\",le=\"1.0\"} 1\n"
		"correlator_request_cpu_seconds_bucket{endpoint=\"E\",le=\"2.5\"} 1\n"
		"correlator_request_cpu_seconds_bucket{endpoint=\"E\",le=\"5.0\"} 1\n"
		"correlator_request_cpu_seconds_bucket{endpoint=\"E\",le=\"10.0\"} 1\n"
		"correlator_request_cpu_seconds_bucket{endpoint=\"E\",le=\"30.0\"} 1\n"
		"correlator_request_cpu_seconds_bucket{endpoint=\"E\",le=\"60.0\"} 1\n"
		"correlator_request_cpu_seconds_bucket{endpoint=\"E\",le=\"+Inf\"} 2\n"
		"correlator_request_cpu_seconds_count{endpoint=\"E\"} 2\n"
		"correlator_request_cpu_seconds_sum{endpoint=\"E\"} 71.000000001\n";
	_cleanup_free_ char *text = NULL;

	begin("endpoint", 5);
	add("a", "E", 1000000000, 1);
	add("b", "E", 70000000001, 1);
	request_metrics_finish(requests);
	text = text_of();
	assert_non_null(strstr(text, expected));
	assert_non_null(strstr(text, of_cpu));
}

/* A request that is twice on a thread: 1 us of its 4 us it was on none. */
static void add_costs(const char *id, const char *endpoint, bool has_gvl)
{
	struct record_key keys[] = { { "request_id", id }, { "endpoint", endpoint } };

	for (int part = 0; part < 2; part++)
		assert_int_equal(request_metrics_add_cpu(
					 requests, &(struct cpu_record){ .keys = keys,
									 .keys_count = 2,
									 .cpu_ns = 300,
									 .run_queue_ns = 200,
									 .blocked_ns = 1000,
									 .blocked_network_ns = 1000,
									 .has_gvl = has_gvl,
									 .gvl_ns = 50,
									 .gvl_waits = 3,
									 .first_ns = 1000,
									 .last_ns = 5000 }),
				 0);
}

COUNTED(request_metrics_sum_each_cost_of_requests)
{
	static const char *const expected[] = {
		"# TYPE correlator_request_blocked_network_seconds counter\n",
		"correlator_request_run_queue_seconds_total{endpoint=\"E\"} 0.000000800\n",
		"correlator_request_blocked_seconds_total{endpoint=\"E\"} 0.000004000\n",
		"correlator_request_blocked_network_seconds_total{endpoint=\"E\"} 0.000004000\n",
		"correlator_request_blocked_futex_seconds_total{endpoint=\"E\"} 0.000000000\n",
		"correlator_request_gvl_seconds_total{endpoint=\"E\"} 0.000000100\n",
		"correlator_request_gvl_waits_total{endpoint=\"E\"} 6\n",
		"correlator_request_parked_seconds_total{endpoint=\"E\"} 0.000002000\n",
		"correlator_request_parked_seconds_total{endpoint=\"other\"} 0.000000000\n",
	};
	_cleanup_free_ char *text = NULL;

	begin("endpoint", 5);
	add_costs("a", "E", true);
	add_costs("b", "E", false);
	add_costs("c", "F", false);
	request_metrics_finish(requests);
	text = text_of();
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_non_null(strstr(text, expected[i]));
	/* That is its histogram's sum. */
	assert_null(strstr(text, "correlator_request_cpu_seconds_total"));
	/* Not measured of any. */
	assert_null(strstr(text, "correlator_request_gvl_waits_total{endpoint=\"F\"}"));
	assert_null(strstr(text, "correlator_request_gc_seconds_total{"));
}

COUNTED(request_metrics_keep_costs_of_removed_series)
{
	begin("endpoint", 1);
	request_metrics_end_window(requests, 1 * NS_PER_S);
	add_costs("a", "E", true);
	request_metrics_finish(requests);
	assert_int_equal(series(1)->costs.sums[COST_BLOCKED], 2000);
	for (uint64_t hour = 1; hour <= 2; hour++)
		request_metrics_end_window(requests, hour * METRICS_IDLE_NS + 2 * NS_PER_S);
	assert_int_equal(request_metrics_figures(requests)->series_count, 1);
	assert_int_equal(series(0)->costs.sums[COST_BLOCKED], 2000);
	assert_int_equal(series(0)->parked_ns, 1000);
	assert_true(cost_counters_has(&series(0)->costs, COST_GVL));
	assert_false(cost_counters_has(&series(0)->costs, COST_GC));
}

static void add_stall(const char *id, const char *endpoint, bool is_hog, uint64_t blocked_ns)
{
	struct record_key keys[] = { { "request_id", id }, { "endpoint", endpoint } };

	request_metrics_add_stall(requests, &(struct stall_record){ .keys = keys,
								    .keys_count = 2,
								    .is_hog = is_hog,
								    .cpu_ns = is_hog ? 5 : 0,
								    .blocked_ns = blocked_ns,
								    .run_queue_ns = 3 });
}

static void add_io(const char *id, const char *endpoint, const char *on, uint32_t flags)
{
	struct record_key keys[] = { { "request_id", id }, { "endpoint", endpoint } };

	request_metrics_add_io(requests, &(struct io_record){ .keys = keys,
							      .keys_count = 2,
							      .flags = flags,
							      .on = on,
							      .calls = 2,
							      .in_bytes = 30,
							      .out_bytes = 400 });
}

COUNTED(request_metrics_count_long_waits_and_io_by_value)
{
	static const char expected[] =
		"# TYPE correlator_request_stalls counter\n"
		"correlator_request_stalls_total{endpoint=\"other\"} 0\n"
		"correlator_request_stalls_total{endpoint=\"E\"} 2\n"
		"# TYPE correlator_request_stall_seconds counter\n"
		"# UNIT correlator_request_stall_seconds seconds\n"
		"correlator_request_stall_seconds_total{endpoint=\"other\"} 0.000000000\n"
		"correlator_request_stall_seconds_total{endpoint=\"E\"} 0.000000306\n"
		"# TYPE correlator_request_hogs counter\n"
		"correlator_request_hogs_total{endpoint=\"other\"} 0\n"
		"correlator_request_hogs_total{endpoint=\"E\"} 1\n"
		"# TYPE correlator_request_hog_seconds counter\n"
		"# UNIT correlator_request_hog_seconds seconds\n"
		"correlator_request_hog_seconds_total{endpoint=\"other\"} 0.000000000\n"
		"correlator_request_hog_seconds_total{endpoint=\"E\"} 0.000000038\n"
		"# TYPE correlator_request_io_calls counter\n"
		"correlator_request_io_calls_total{endpoint=\"E\",io_on=\"file\"} 2\n"
		"correlator_request_io_calls_total{endpoint=\"E\",io_on=\"tcp\"} 4\n"
		"# TYPE correlator_request_io_in_bytes counter\n"
		"# UNIT correlator_request_io_in_bytes bytes\n"
		"correlator_request_io_in_bytes_total{endpoint=\"E\",io_on=\"file\"} 30\n"
		"correlator_request_io_in_bytes_total{endpoint=\"E\",io_on=\"tcp\"} 60\n"
		"# TYPE correlator_request_io_out_bytes counter\n"
		"# UNIT correlator_request_io_out_bytes bytes\n"
		"correlator_request_io_out_bytes_total{endpoint=\"E\",io_on=\"file\"} 400\n"
		"correlator_request_io_out_bytes_total{endpoint=\"E\",io_on=\"tcp\"} 800\n";
	_cleanup_free_ char *text = NULL;

	begin("endpoint", 5);
	add_stall("a", "E", false, 100);
	add_stall("b", "E", false, 200);
	add_stall("c", "E", true, 30);
	add_io("a", "E", "tcp", 0);
	add_io("b", "E", "tcp", 0);
	add_io("a", "E", "file", 0);
	/* These belong to no request, or to an unknown one. */
	add_io("", "", "tcp", 0);
	add_io("a", "E", "tcp", CPU_RECORD_OVERFLOW);
	add_stall(NULL, NULL, false, 100);
	text = text_of();
	take_help(text);
	assert_non_null(strstr(text, expected));
}

COUNTED(request_metrics_keep_long_waits_and_io_of_removed_series)
{
	begin("endpoint", 1);
	request_metrics_end_window(requests, 1 * NS_PER_S);
	add_stall("a", "E", false, 100);
	add_io("a", "E", "unix", 0);
	for (uint64_t hour = 1; hour <= 2; hour++)
		request_metrics_end_window(requests, hour * METRICS_IDLE_NS + 2 * NS_PER_S);
	assert_int_equal(request_metrics_figures(requests)->series_count, 1);
	assert_int_equal(series(0)->stalls.sum_ns, 103);
	assert_int_equal(series(0)->io[IO_ON_UNIX].in_bytes, 30);
}

COUNTED(request_figures_copy_is_independent_of_source)
{
	struct request_figures *copy;

	begin("endpoint", 2);
	copy = request_figures_copy(request_metrics_figures(requests));
	assert_non_null(copy);
	add("a", "A", 5, 1);
	add("b", "B", 6, 1);
	request_metrics_finish(requests);
	assert_int_equal(copy->series_count, 1);
	request_figures_assign(copy, request_metrics_figures(requests));
	assert_int_equal(copy->series_count, 3);
	assert_string_equal(copy->label, "endpoint");
	assert_string_equal(copy->series[2].value, "B");
	assert_int_equal(copy->series[2].cpu.sum_ns, 6);
	free(copy);
}

COUNTED(request_metrics_fails_or_counts_as_other_without_memory)
{
	struct request_metrics *metrics;
	size_t failures = 0, successes = 0;

	assert_each_allocation_can_fail(request_metrics_new("endpoint", 2, &metrics), failures++);
	assert_true(failures > 4);
	request_metrics_free(metrics);
	begin("endpoint", 2);
	add("a", "A", 1, 1);
	memory_fails_after(0);
	assert_int_equal(try_add("b", "B", 1, 1), -ENOMEM);
	request_metrics_finish(requests);
	assert_null(request_figures_copy(request_metrics_figures(requests)));
	memory_never_fails();
	expect_series(0, "other", 1, 1);
	/* In the middle of a new series: it is the others' then. */
	do {
		add("a", "C", 1, 1);
		memory_fails_once_after(successes++);
		request_metrics_finish(requests);
		memory_never_fails();
	} while (memory_failures());
	assert_true(successes > 3);
	expect_series(0, "other", successes, successes);
	expect_series(1, "C", 1, 1);
	request_metrics_free(NULL);
}

static unsigned int seeds;

uint64_t random_seed(void)
{
	return ++seeds;
}

/* Whoever names endpoints cannot choose which of them collide. */
COUNTED(request_metrics_seeds_each_hash_table_randomly)
{
	unsigned int of_tracker;

	seeds = 0;
	request_tracker_free(request_tracker_new(1));
	of_tracker = seeds;
	begin("endpoint", 1);
	assert_int_equal(seeds, 2 * of_tracker + 1);
}
