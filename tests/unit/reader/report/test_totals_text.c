/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said above the tables of where the figures come from, and below them of leftovers. */
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>

#include "unit_test.h"

#include "base/clock.h"
#include "reader/aggregate/sample_totals.h"
#include "reader/report/printed.h"
#include "reader/report/table.h"
#include "reader/report/totals_view.h"

static const uint64_t start_ns = UINT64_C(1700000000000000000);

static struct totals totals;
static struct input_file files[2];
static struct view_options options;

static int setup(void **state)
{
	(void)state;
	memset(files, 0, sizeof(files));
	files[0] = (struct input_file){ .name = "one.rec", .entry_count = 1 };
	options = (struct view_options){
		.sort = FIGURE_CPU,
		.has_books = true,
		.has_cost = true,
		.width = 100,
		.files = files,
		.file_count = 1,
	};
	return setlocale(LC_CTYPE, "C.UTF-8") ? totals_init(&totals, NULL, 2) : -1;
}

static int teardown(void **state)
{
	(void)state;
	totals_deinit(&totals);
	return printed_forget(state);
}

static void print(void)
{
	FILE *out = printed_begin();

	assert_int_equal(totals_text_print(&totals, &options, out), 0);
	printed_end(out);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(table_header_shows_dash_for_unknown_facts)
{
	print();
	says("recording one.rec (1 record)");
	says("time -");
	says("processes -");
	says("mode -");
	says("system -");
	says("keys -");
	says_nothing_of("in force");
	options.file_count = 0;
	print();
	says("recording -");
}

FIXTURE_TEST(table_header_reports_damaged_and_truncated_files)
{
	options.file_count = 2;
	files[1] = (struct input_file){ .name = "two.rec", .entry_count = 1200 };
	print();
	says("recording one.rec (1 record), two.rec (1,200 records)");
	files[0].is_truncated = true;
	files[1].damaged_places = 1;
	files[1].damaged_bytes = 1;
	print();
	says("recording one.rec (1 record, truncated), two.rec (1,200 records, 1 byte damaged)");
	files[1].damaged_bytes = 2000;
	print();
	says("recording one.rec (1 record, truncated), two.rec (1,200 records, 2,000 bytes damaged)");
}

/* `recording  ' and `one.rec (1 record)' are 11 and 18, ', two.rec (1 record)' and the comma
 * behind it 21 more. */
FIXTURE_TEST(table_header_wraps_list_at_screen_width)
{
	options.file_count = 2;
	files[1] = (struct input_file){ .name = "two.rec", .entry_count = 1 };
	options.width = 11 + 18 + 21;
	print();
	says("recording one.rec (1 record), two.rec (1 record)");
	options.width--;
	print();
	says("recording one.rec (1 record),");
	says("two.rec (1 record)");
	assert_non_null(strstr(printed, "\n           two.rec"));
	/* One that is wider than the screen is cut. */
	options.width = 11 + 1 + 9;
	print();
	says("recording one.…ord),");
	for (options.width = 1; options.width <= 11 + 1 + 1; options.width++) {
		print();
		says("recording …,");
	}
}

FIXTURE_TEST(table_header_time_begins_at_first_window)
{
	totals.selection.recording.start_ns = start_ns;
	totals.selection.recording.end_ns = start_ns + 2500000000;
	print();
	says("time 2.500 s, from 2023-11-14 22:13:20 UTC");
	totals.selection.recording.start_ns = 0;
	totals.selection.recording.end_ns = 1;
	print();
	says("time 1 ns, from 1970-01-01 00:00:00 UTC");
}

static void add_process(int64_t pid, const char *mode, const char *server, bool has_ended)
{
	struct sample sample;

	sample_record(&sample, "process pid=%ld comm=app mode=%s", pid, mode);
	if (server)
		sample_fields(&sample, "server=%s", server);
	if (has_ended)
		sample_fields(&sample, "end_ns=1");
	assert_int_equal(sample_add(&sample, &totals), 0);
}

FIXTURE_TEST(table_header_describes_each_process)
{
	add_process(1, "exact", NULL, false);
	add_process(2, "lean", "p", false);
	add_process(3, "exact", NULL, true);
	print();
	says("processes 1 app, 2 app (p, lean), 3 app (ended)");
	totals.selection.recording.has_several_hosts = true;
	print();
	says("processes web-1:1 app, web-1:2 app (p, lean), web-1:3 app (ended)");
}

FIXTURE_TEST(table_header_counts_ended_processes_by_default)
{
	options.has_books = options.has_cost = false;
	add_process(1, "exact", NULL, true);
	add_process(2, "exact", NULL, true);
	print();
	says("processes 1 app (ended), 1 more have ended");
	says_nothing_of("system");
	says_nothing_of("keys");
	says("next --slowest, --request ID, --by KEY, --html PAGE, --books, --cost");
	/* The one that matters, of those that have ended. */
	sample_add_record(&totals, "process pid=3 comm=ruby ruby_version=\"3.3.8\" end_ns=1");
	print();
	says("processes 3 ruby (Ruby 3.3.8, ended), 2 more have ended");
	add_process(4, "exact", "puma", false);
	print();
	says("processes 4 app (puma), 3 more have ended");
}

static void add_unattributed(const char *thread_name, int64_t cpu_ns)
{
	struct sample sample;

	sample_begin_cpu(&sample, 1, cpu_ns, "", cpu_ns, 0);
	sample_fields(&sample, "thread_name=\"%s\"", thread_name);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

FIXTURE_TEST(table_suggests_gem_for_unattributed_pool_threads)
{
	options.width = 400;
	add_unattributed("puma srv tp 001", 9000);
	add_unattributed("worker-", 500);
	add_unattributed("my worker", 451);
	add_unattributed("worker-1", 30);
	print();
	says_nothing_of("concurrent");
	add_unattributed("worker-io-worker-12", 101);
	print();
	assert_non_null(strstr(printed, "1.3 % of the CPU was in threads of a pool, in no context: "
					"with the gem `correlator', `require "
					"\"correlator/concurrent\"' attributes it"));
}

FIXTURE_TEST(table_header_limits_listed_processes)
{
	options.width = 400;
	for (int pid = 1; pid <= 12; pid++)
		add_process(pid, "exact", NULL, false);
	print();
	assert_non_null(strstr(printed, "11 app, 12 app\n"));
	says_nothing_of("more");
	add_process(13, "exact", NULL, false);
	print();
	assert_non_null(strstr(printed, "11 app, 12 app, … 1 more\n"));
}

FIXTURE_TEST(table_header_lists_modules_if_any_was_on)
{
	struct recording *recording = &totals.selection.recording;

	print();
	says_nothing_of("modules");
	(void)strcpy(recording->modules[0], "stall");
	(void)strcpy(recording->modules[1], "stacks");
	recording->module_count = 2;
	print();
	says("modules stall, stacks");
}

FIXTURE_TEST(table_header_lists_each_mode_with_its_time)
{
	struct recording *recording = &totals.selection.recording;

	recording->meta_count = 1;
	recording->mode_count = 1;
	recording->start_ns = start_ns;
	recording->interval_ns = 1000000000;
	recording->modes[0] = (struct recording_mode){ start_ns, true, "exact", "" };
	recording->modes[1] = (struct recording_mode){ start_ns + 3000, false, "l", "?" };
	recording->modes[2] = (struct recording_mode){ start_ns - 1, true, "exact", "" };
	print();
	says("mode exact, windows of 1.000 s");
	says_nothing_of("then");
	recording->mode_count = 3;
	recording->modes[0].has_kernel_split = false;
	print();
	says("mode exact without user/kernel split, windows of 1.000 s");
	says("then l without user/kernel split after 3.000 us: ?");
	says("then exact after 0 ns");
	says_nothing_of("more changes");
	recording->modes_left_out = 1;
	print();
	says("… 1 more changes");
}

FIXTURE_TEST(table_header_shows_system_and_keys)
{
	struct recording *recording = &totals.selection.recording;

	recording->cpu_count = 1;
	(void)strcpy(recording->keys[0], "k");
	recording->key_count = 1;
	print();
	says("system 1 CPU");
	says("keys k");
	(void)strcpy(recording->kernel_release, "6");
	(void)strcpy(recording->tool_version, "1");
	(void)strcpy(recording->keys[1], "tenant");
	recording->key_count = 2;
	recording->cpu_count = 2;
	print();
	says("system Linux 6, 2 CPUs, correlator 1");
	says("keys k, tenant");
}

FIXTURE_TEST(table_reports_inherited_contexts)
{
	static const char rest[] =
		"already in force on a thread when it was first seen: flagged inherited,";
	static const struct {
		size_t requests;
		const char *who;
	} cases[] = { { 0, "contexts were" },
		      { 1, "1 request was" },
		      { 1200, "1,200 requests were" } };
	char line[160];

	options.width = 400;
	totals.inherited = (struct costs){ .record_count = 1, .sums = { [COST_CPU] = 5000 } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		totals.inherited_requests = cases[i].requests;
		print();
		(void)snprintf(line, sizeof(line), "%s %s 5.000 us of CPU", cases[i].who, rest);
		says(line);
	}
	totals.inherited.missing = 1U << COST_CPU;
	print();
	(void)snprintf(line, sizeof(line), "1,200 requests were %s - of CPU", rest);
	says(line);
	totals.inherited_requests = 0;
}

FIXTURE_TEST(table_omits_empty_groupings_except_first)
{
	static const enum figure columns[] = { FIGURE_REQUESTS, FIGURE_CPU, FIGURE_USER,
					       FIGURE_BLOCKED, FIGURE_SHARE };

	options.columns = columns;
	options.column_count = sizeof(columns) / sizeof(columns[0]);
	print();
	says("endpoint requests cpu user blocked share");
	says_nothing_of("request_id");
	sample_add_cpu(&totals, 1, "a", "GET /", 3000, 1000);
	sample_add_cpu(&totals, 1, "b", NULL, 1000, 0);
	assert_int_equal(totals_finish(&totals), 0);
	print();
	says("endpoint requests cpu user blocked share");
	says("GET / 1 4.000 us 3.000 us 2 ns 80.00 %");
	says("(no endpoint) 1 1.000 us 1.000 us 2 ns 20.00 %");
	says("total 2 5.000 us 4.000 us 4 ns 100.00 %");
	/* Requests are not counted by request. */
	says("request_id cpu user blocked share");
	says("a 4.000 us 3.000 us 2 ns 80.00 %");
	options.columns = NULL;
	options.column_count = 0;
}

static void add_waiting(const char *request, const char *endpoint, int64_t gvl_ns)
{
	struct sample sample;

	sample_begin_cpu(&sample, 42, 1, request, 10, 0);
	sample_fields(&sample, "endpoint=\"%s\"", endpoint);
	if (gvl_ns >= 0)
		sample_fields(&sample, "gvl_ns=%ld", gvl_ns);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

/* Nor is the sum of some and not of others. */
FIXTURE_TEST(table_shows_gvl_column_if_measured)
{
	static const enum figure columns[] = { FIGURE_CPU, FIGURE_GVL };

	add_waiting("a", "GET /", 3000);
	add_waiting("b", "GET /", 4000);
	add_waiting("c", "PUT /", -1);
	assert_int_equal(totals_finish(&totals), 0);
	options.width = 1000;
	print();
	assert_non_null(strstr(printed, "  run queue  blocked       gvl  "));
	options.columns = columns;
	options.column_count = sizeof(columns) / sizeof(columns[0]);
	print();
	says("endpoint cpu gvl");
	says("GET / 20 ns 7.000 us");
	says("PUT / 10 ns -");
	says("total 30 ns -");
	options.columns = NULL;
	options.column_count = 0;
}

FIXTURE_TEST(table_shows_gc_column_if_measured)
{
	static const enum figure columns[] = { FIGURE_GC };

	sample_add_cpu_with(&totals, 1, "a", 10000, 0, "endpoint=\"GET /\" gc_ns=3000");
	add_waiting("c", "PUT /", -1);
	assert_int_equal(totals_finish(&totals), 0);
	options.width = 1000;
	print();
	assert_non_null(strstr(printed, "  blocked        gc  "));
	options.columns = columns;
	options.column_count = sizeof(columns) / sizeof(columns[0]);
	print();
	says("endpoint gc");
	says("GET / 3.000 us");
	says("PUT / -");
	options.columns = NULL;
	options.column_count = 0;
}

FIXTURE_TEST(table_omits_gvl_and_gc_columns_if_unmeasured)
{
	add_waiting("c", "PUT /", -1);
	assert_int_equal(totals_finish(&totals), 0);
	options.width = 1000;
	print();
	says_nothing_of("gvl");
	says_nothing_of(" gc ");
}

FIXTURE_TEST(table_cuts_long_keys_shorter_after_first_key)
{
	static const char *const by = "first,second";
	char first[80], second[80], expected[160];

	totals_deinit(&totals);
	assert_int_equal(totals_init(&totals, &by, 1), 0);
	memset(first, 'a', sizeof(first));
	memset(second, 'b', sizeof(second));
	first[79] = second[79] = '\0';
	sample_add_cpu_with(&totals, 1, "r", 10, 0, "first=%s second=%s", first, second);
	sample_add_cpu_with(&totals, 2, "q", 5, 0, "first=short second=");
	assert_int_equal(totals_finish(&totals), 0);
	options.width = 300;
	print();
	if (!strstr(printed, "\nshort ") || !strstr(printed, " (no second) "))
		fail_msg("no (no second) in\n%s", printed);
	(void)snprintf(expected, sizeof(expected), "%.30s…%.29s  %.15s…%.14s ", first, first,
		       second, second);
	if (!strstr(printed, expected))
		fail_msg("no %s in\n%s", expected, printed);
}

/* What a cell says of the first group. */
static const char *cell(enum figure field)
{
	static char text[TABLE_CELL_BYTES];
	struct rows rows;

	assert_int_equal(rows_init(&rows, &totals, &totals.groupings[0], FIGURE_CPU, 0), 0);
	text[0] = '\0';
	row_text_write(&rows, 0, field, false, text);
	rows_deinit(&rows);
	return text;
}

FIXTURE_TEST(table_elides_middle_of_long_thread_name)
{
	static const char *const by = "tid";
	char name[GROUP_NAME_BYTES + 1] = "";

	totals_deinit(&totals);
	assert_int_equal(totals_init(&totals, &by, 1), 0);
	memset(name, '\a', sizeof(name) - 1);
	(void)strcpy(name + sizeof(name) - 2, "\x0b");
	sample_add_cpu_with(&totals, 1, "r", 10, 0, "thread_name=\"%s\"", name);
	assert_int_equal(totals_finish(&totals), 0);
	assert_string_equal(cell(FIGURE_THREAD_NAME), "\\x07\\x07\\x07\\x0…07\\x07\\x07\\x0b");
}

FIXTURE_TEST(table_rate_has_one_decimal_below_100)
{
	static const struct {
		uint64_t duration_ns;
		const char *text;
	} cases[] = { { NS_PER_S, "1.0" },
		      { 10050 * NS_PER_US, "99.5" },
		      { 10 * NS_PER_MS, "100" },
		      { 9 * NS_PER_MS, "111" } };
	static const char *const by = "endpoint";

	totals_deinit(&totals);
	assert_int_equal(totals_init(&totals, &by, 1), 0);
	sample_add_cpu(&totals, 1, "r", "GET /", 10, 0);
	assert_int_equal(totals_finish(&totals), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		totals.selection.recording.start_ns = start_ns;
		totals.selection.recording.end_ns = start_ns + cases[i].duration_ns;
		assert_string_equal(cell(FIGURE_RATE), cases[i].text);
	}
}

FIXTURE_TEST(table_reports_cpu_that_rows_may_lack)
{
	options.width = 1000;
	print();
	assert_null(strstr(printed, "may lack"));
	totals.groupings[0].lacking_cpu_ns = 5000;
	print();
	if (!strstr(printed, "may lack up to 5.000 us of CPU"))
		fail_msg("in\n%s", printed);
}
