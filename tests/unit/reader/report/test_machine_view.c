/* SPDX-License-Identifier: GPL-2.0-only */
#include <locale.h>
#include <stdlib.h>

#include "unit_test.h"

#include "reader/aggregate/sample_totals.h"
#include "reader/report/totals_view.h"

static struct totals totals;

static int setup(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

static void begin(const char *by)
{
	totals_deinit(&totals);
	assert_int_equal(totals_init(&totals, &by, 1), 0);
}

static void add_cpu(int64_t tid, const char *thread_name, const char *request_id, int64_t user_ns,
		    int64_t migrations, const char *flag)
{
	struct sample sample;

	sample_begin_cpu(&sample, 42, tid, request_id, user_ns, 0);
	sample_fields(&sample, "window_ns=1000 thread_name=\"%s\" migrations=%ld", thread_name,
		      migrations);
	if (flag)
		sample_fields(&sample, "flags=[%s]", flag);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

static void add_meta(const char *mode, int64_t cpu_count, const char *reason)
{
	struct sample sample;

	sample_record(&sample, "meta pid=7 mode=%s interval_ns=1000000000", mode);
	if (cpu_count > 0)
		sample_fields(&sample, "cpu_count=%ld", cpu_count);
	if (reason)
		sample_fields(&sample, "reason=\"%s\"", reason);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

static void add_process(const char *comm)
{
	sample_add_record(&totals, "process pid=42 comm=%s", comm);
}

/* What the table says at a width; the caller frees it. */
static char *print(size_t width, enum figure sort)
{
	const struct view_options options = {
		.sort = sort,
		.width = width,
		.has_books = true,
	};
	size_t size_bytes = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size_bytes);

	assert_non_null(out);
	totals_finish(&totals);
	assert_int_equal(totals_text_print(&totals, &options, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect_printed(size_t width, const char *part)
{
	char *text = print(width, FIGURE_CPU);

	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
	free(text);
}

TEST(grouping_by_pid_or_comm_includes_unattributed_time)
{
	static const char *const bys[] = { "pid", "comm" };

	for (size_t i = 0; i < 2; i++) {
		begin(bys[i]);
		add_process("puma");
		add_cpu(7, "a", "req", 400, 1, NULL);
		add_cpu(7, "a", "", 30, 1, NULL);
		add_cpu(8, "b", "", 2, 1, "unknown");
		add_cpu(0, "", "", 1, 1, "overflow");
		assert_int_equal(totals.groupings[0].group_count, 1);
		assert_int_equal(totals.groupings[0].groups->costs.sums[COST_CPU], 433);
		assert_int_equal(totals.groupings[0].groups->costs.sums[COST_MIGRATIONS], 4);
		assert_int_equal(totals.groupings[0].without_value.record_count, 0);
	}
}

TEST(table_by_tid_shows_latest_thread_name)
{
	begin("tid");
	add_cpu(7, "ruby", "req", 400, 1, NULL);
	add_process("puma");
	add_cpu(7, "worker 1", "", 100, 2, NULL);
	add_cpu(0, "", "", 10, 0, "overflow");
	expect_printed(200, "42/7      worker 1     puma  500 ns");
	expect_printed(200, "(no tid)                      10 ns");
	expect_printed(200, "total                        510 ns");
}

TEST(totals_usage_is_percent_of_cpu_and_of_machine)
{
	double percent;

	begin("pid");
	add_meta("exact", 4, NULL);
	add_cpu(7, "a", "req", 500, 1, NULL);
	add_cpu(8, "b", "", 1000, 1, NULL);
	assert_true(totals_cpu_percent(&totals, &totals.all, &percent));
	assert_true(percent > 149.9 && percent < 150.1);
	assert_true(totals_machine_percent(&totals, &totals.all, &percent));
	assert_true(percent > 37.4 && percent < 37.6);
	expect_printed(100, "150.00      37.50");
}

TEST(totals_machine_percent_needs_one_known_cpu_count)
{
	double percent;

	begin("pid");
	add_cpu(7, "a", "req", 500, 1, NULL);
	assert_false(totals_machine_percent(&totals, &totals.all, &percent));
	add_meta("exact", 4, NULL);
	assert_true(totals_machine_percent(&totals, &totals.all, &percent));
	add_meta("exact", 8, NULL);
	assert_false(totals_machine_percent(&totals, &totals.all, &percent));
	expect_printed(100, " 50.00          - ");
}

TEST(table_sorts_by_migrations_and_thread_name)
{
	char *text;

	begin("tid");
	add_cpu(7, "b", "req", 500, 1, NULL);
	add_cpu(8, "a", "req", 400, 9, NULL);
	text = print(100, FIGURE_CPU);
	assert_true(strstr(text, "42/7") < strstr(text, "42/8"));
	free(text);
	text = print(100, FIGURE_MIGRATIONS);
	assert_true(strstr(text, "42/8") < strstr(text, "42/7"));
	free(text);
	text = print(100, FIGURE_THREAD_NAME);
	assert_true(strstr(text, "42/8") < strstr(text, "42/7"));
	free(text);
}

TEST(table_shows_mode_changes_with_time_and_reason)
{
	begin("request_id");
	add_cpu(7, "a", "req", 500, 1, NULL);
	add_meta("exact", 4, NULL);
	add_meta("exact", 4, NULL);
	expect_printed(100, "mode       exact, windows");
	add_meta("lean", 4, "over the budget of 1 %");
	expect_printed(58, "mode       exact, windows of 1.000 s\n"
			   "           then lean after 1.000 us: over the budget of 1\n"
			   "           %\n");
	/* In the lean mode a bound of 0 is worth a line. */
	sample_add_balance(&totals, 500, 500, 0, 0);
	expect_printed(100, "ambiguous, at most           0 ns     0.00 %");
	for (int i = 0; i < RECORDING_MODES_MAX; i++)
		add_meta(i % 2 ? "lean" : "exact", 4, NULL);
	expect_printed(100, "           … 2 more changes\n");
}

static void add_process_event(const char *event, const char *server, int64_t start_ns,
			      int64_t end_ns)
{
	struct sample sample;

	sample_record(&sample, "process pid=42 event=%s comm=ruby", event);
	if (server)
		sample_fields(&sample, "server=%s", server);
	if (start_ns > 0)
		sample_fields(&sample, "start_ns=%ld", start_ns);
	if (end_ns > 0)
		sample_fields(&sample, "end_ns=%ld", end_ns);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

TEST(recording_replaces_ended_process_of_reused_pid)
{
	struct recording_process_info info;
	const void *cursor = NULL;

	begin("pid");
	add_process_event("found", "puma", 1000, 0);
	add_process_event("exit", NULL, 0, 2000);
	expect_printed(100, "processes  42 ruby (puma, ended)\n");
	assert_true(recording_next_process(&totals.selection.recording, &cursor, &info));
	assert_int_equal(info.start_ns, 1000);
	assert_int_equal(info.end_ns, 2000);
	add_process_event("fork", NULL, 3000, 0);
	expect_printed(100, "processes  42 ruby\n");
}

TEST(table_counts_inherited_requests_once)
{
	begin("endpoint");
	add_cpu(7, "a", "req-1", 500, 1, "inherited");
	add_cpu(8, "b", "req-1", 20, 1, "inherited");
	expect_printed(200, "\n1 request was already in force on a thread when it was first seen: "
			    "flagged inherited, 520 ns of CPU\n");
	add_cpu(7, "a", "req-2", 3, 1, "inherited");
	add_cpu(7, "a", "req-3", 1000, 1, NULL);
	expect_printed(200,
		       "\n2 requests were already in force on a thread when it was first seen: "
		       "flagged inherited, 523 ns of CPU\n");
}

TEST(table_shows_window_with_largest_residual)
{
	begin("request_id");
	sample_add_balance(&totals, 1000000, 999000, 0, 0);
	sample_add_balance(&totals, 4000000, 4002000, 0, 0);
	sample_add_balance(&totals, 10, 5, 0, 0);
	expect_printed(100, "  largest of a window     -2,000 ns  = -500.00 ppm of its exec time");
}

TEST(table_shows_stolen_time_only_if_nonzero)
{
	char *text;

	begin("request_id");
	add_cpu(7, "a", "req", 500, 1, NULL);
	text = print(100, FIGURE_CPU);
	assert_null(strstr(text, "stolen"));
	free(text);
	begin("request_id");
	sample_add_cpu_with(&totals, 7, "req", 5, 0, "stolen_ns=1234");
	expect_printed(100, "  stolen 1.234 us: taken from the CPUs");
}

static int tear_down(void **state)
{
	(void)state;
	totals_deinit(&totals);
	return 0;
}

TEST_GROUP(setup, tear_down)
