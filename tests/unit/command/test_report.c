/* SPDX-License-Identifier: GPL-2.0-only */
/* What report reads, and what it asks to be printed; what prints is here. */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio_ext.h>
#include <stdlib.h>

#include "unit_test.h"

#include "base/clock.h"
#include "command/command.h"
#include "command_line.h"
#include "failing_memory.h"
#include "reader/report/format.h"
#include "reader/report/format_diff.h"
#include "reader/report/format_story.h"
#include "record/golden.h"
#include "requests/open_requests.h"

UNIT_TEST_ALONE;

enum {
	FILES_MAX = 4,
	GOLDEN_CPU_NS = 470001234
};

/* What was asked for. */
static struct {
	char format; /* 't', 'j', 'c', 'n', over time 'T', 'J', 'C', 'N', of a
		      diff 'd', 'D', 'v', 'V'; 0 = nothing */
	struct format_options options;
	struct input_file files[FILES_MAX];
	char names[FILES_MAX][128];
	size_t grouping_count, folded_count;
	char by[TOTALS_GROUPINGS_MAX][32];
	int64_t cpu_ns, largest_ns;
	uint64_t double_records;
	enum figure columns[4];
	size_t conditions;
	bool is_over_time;
	uint64_t step_ns;
	double above_percent;
	size_t diff_rows;
	int64_t after_cpu_ns;
	size_t after_conditions;
} asked;

static int format_code;
static const char *printed;
static struct command_result result;
static char recording[4096];

static int note(char format, const struct totals *totals, const struct format_options *options,
		FILE *out)
{
	assert_ptr_equal(out, stdout);
	asked.format = format;
	asked.options = *options;
	assert_true(options->file_count <= FILES_MAX);
	for (size_t i = 0; i < options->file_count; i++) {
		asked.files[i] = options->files[i];
		(void)snprintf(asked.names[i], sizeof(asked.names[i]), "%s",
			       options->files[i].name);
	}
	asked.grouping_count = totals->grouping_count;
	asked.folded_count = totals->groupings[0].folded_count;
	for (const struct group *group = totals->groupings[0].groups; group; group = group->hh.next)
		if (group->costs.sums[COST_CPU] > asked.largest_ns)
			asked.largest_ns = group->costs.sums[COST_CPU];
	for (size_t i = 0; i < totals->grouping_count; i++)
		(void)snprintf(asked.by[i], sizeof(asked.by[i]), "%s", totals->groupings[i].by);
	asked.cpu_ns = totals->all.sums[COST_CPU];
	asked.double_records = totals->selection.double_records;
	asked.is_over_time = totals->groupings[0].is_over_time;
	asked.step_ns = totals->groupings[0].step_ns;
	asked.above_percent = totals->groupings[0].above_percent;
	asked.conditions = totals->selection.filter.condition_count;
	for (size_t i = 0; i < options->column_count && i < 4; i++)
		asked.columns[i] = options->columns[i];
	(void)fputs(printed, out);
	return format_code;
}

/* Hours go by. */
uint64_t clock_monotonic_ns(void)
{
	static uint64_t now_ns;

	return now_ns += 3600 * NS_PER_S;
}

int format_totals(const struct totals *totals, const struct format_options *options, FILE *out)
{
	return note("tjcn"[options->format], totals, options, out);
}

int format_series(const struct totals *totals, const struct format_options *options, FILE *out)
{
	return note("TJCN"[options->format], totals, options, out);
}

static int note_story(char format, const struct story *story, const struct format_options *options,
		      FILE *out)
{
	assert_string_equal(story->request_id, "req-1");
	assert_true(story_is_there(story));
	/* All of them: it is what --by request_id says. */
	assert_int_equal(story->costs.sums[COST_CPU], 270001234);
	return note(format, story->totals, options, out);
}

int format_story(const struct story *story, const struct format_options *options, FILE *out)
{
	return note_story("sS"[options->format], story, options, out);
}

static int note_diff(char format, const struct diff *diff, const struct format_options *options,
		     FILE *out)
{
	asked.diff_rows = diff->row_count;
	asked.after_cpu_ns = diff->after->all.sums[COST_CPU];
	asked.after_conditions = diff->after->selection.filter.condition_count;
	return note(format, diff->before, options, out);
}

int format_diff(const struct diff *diff, const struct format_options *options, FILE *out)
{
	return note_diff("dDvV"[options->format], diff, options, out);
}

static int setup(void **state)
{
	(void)state;
	format_code = 0;
	printed = "the report\n";
	(void)unsetenv("COLUMNS");
	(void)unsetenv("NO_COLOR");
	golden_path("shop.rec", recording, sizeof(recording));
	return 0;
}

/* On the golden recording, with these options. */
static int report(const char *arguments)
{
	char line[6000];

	memset(&asked, 0, sizeof(asked));
	(void)snprintf(line, sizeof(line), "report %s", arguments);
	command_run_with(command_report, line, recording, &result);
	return result.code;
}

static void says(const char *text)
{
	if (!strstr(result.error, text))
		fail_msg("`%s' is not in:\n%s", text, result.error);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, NULL)

FIXTURE_TEST(report_defaults_to_table_by_endpoint_and_request)
{
	assert_int_equal(report(""), EXIT_CODE_OK);
	assert_string_equal(result.error, "");
	assert_string_equal(result.output, "the report\n");
	assert_int_equal(asked.format, 't');
	assert_int_equal(asked.options.sort, FIGURE_CPU);
	assert_int_equal(asked.options.top_count, 20);
	assert_int_equal(asked.options.width, 100);
	assert_false(asked.options.is_bold);
	assert_int_equal(asked.options.file_count, 1);
	assert_string_equal(asked.names[0], recording);
	assert_int_equal(asked.files[0].entry_count, GOLDEN_RECORDS);
	assert_false(asked.files[0].is_truncated);
	assert_int_equal(asked.files[0].damaged_places, 0);
	assert_int_equal(asked.grouping_count, 2);
	assert_string_equal(asked.by[0], "endpoint");
	assert_string_equal(asked.by[1], "request_id");
	assert_null(asked.options.columns);
	assert_true(asked.options.is_endless);
	assert_int_equal(asked.cpu_ns, GOLDEN_CPU_NS);
}

FIXTURE_TEST(report_machine_formats_have_one_grouping_and_all_rows)
{
	assert_int_equal(report("--format json"), EXIT_CODE_OK);
	assert_int_equal(asked.format, 'j');
	assert_int_equal(asked.options.top_count, 0);
	assert_int_equal(asked.grouping_count, 1);
	assert_int_equal(report("--format csv --top 3"), EXIT_CODE_OK);
	assert_int_equal(asked.format, 'c');
	assert_int_equal(asked.options.top_count, 3);
	assert_int_equal(asked.grouping_count, 1);
	assert_int_equal(report("--format ndjson"), EXIT_CODE_OK);
	assert_int_equal(asked.format, 'n');
	assert_int_equal(asked.options.top_count, 0);
	assert_int_equal(report("--format table --top 0 --sort blocked"), EXIT_CODE_OK);
	assert_int_equal(asked.format, 't');
	assert_int_equal(asked.options.top_count, 0);
	assert_int_equal(asked.options.sort, FIGURE_BLOCKED);
	assert_int_equal(asked.grouping_count, 2);
	assert_int_equal(report("--by endpoint"), EXIT_CODE_OK);
	assert_int_equal(asked.grouping_count, 1);
	assert_string_equal(asked.by[0], "endpoint");
}

FIXTURE_TEST(report_rejects_unknown_key_and_lists_known_keys)
{
	assert_int_equal(report("--by colour"), EXIT_CODE_FAILURE);
	assert_int_equal(asked.format, 0);
	says("no record has the key colour; keys that occur: request_id, endpoint (choose");
	assert_int_equal(report("--by pid"), EXIT_CODE_OK);
	assert_int_equal(report("--by thread_name"), EXIT_CODE_OK);
}

FIXTURE_TEST(report_requires_each_key_of_list)
{
	assert_int_equal(report("--by endpoint,pid"), EXIT_CODE_OK);
	assert_string_equal(asked.by[0], "endpoint,pid");
	assert_int_equal(report("--by endpoint,colour"), EXIT_CODE_FAILURE);
	says("no record has the key colour;");
}

FIXTURE_TEST(report_slowest_lists_requests_by_wall_time)
{
	assert_int_equal(report("--slowest"), EXIT_CODE_OK);
	assert_true(asked.options.is_slowest);
	assert_int_equal(asked.options.top_count, 20);
	assert_int_equal(asked.options.sort, FIGURE_WALL);
	assert_int_equal(asked.grouping_count, 1);
	assert_string_equal(asked.by[0], "request_id");
	assert_true(asked.above_percent == 0);
	assert_int_equal(report("--slowest=7 --sort cpu -f json"), EXIT_CODE_OK);
	assert_int_equal(asked.options.top_count, 7);
	assert_int_equal(asked.options.sort, FIGURE_CPU);
	assert_int_equal(report("--slowest -f csv"), EXIT_CODE_OK);
	assert_int_equal(asked.options.top_count, 20);
	assert_int_equal(report("--slowest=99.5%"), EXIT_CODE_OK);
	assert_true(asked.above_percent == 99.5);
	assert_int_equal(asked.options.top_count, 20);
	assert_int_equal(asked.grouping_count, 2);
	assert_string_equal(asked.by[1], "endpoint");
	assert_int_equal(report("--slowest=99% -f json"), EXIT_CODE_OK);
	assert_int_equal(asked.options.top_count, 0);
	assert_int_equal(report("--slowest=99% --top 3 -f json"), EXIT_CODE_OK);
	assert_int_equal(asked.options.top_count, 3);
	assert_int_equal(report(""), EXIT_CODE_OK);
	assert_false(asked.options.is_slowest);
}

FIXTURE_TEST(report_over_time_has_one_grouping_in_steps)
{
	static const struct {
		const char *name;
		char format;
	} formats[] = { { "table", 'T' }, { "json", 'J' }, { "csv", 'C' }, { "ndjson", 'N' } };

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		char option[32];

		(void)snprintf(option, sizeof(option), "--over-time -f %s", formats[i].name);
		assert_int_equal(report(option), EXIT_CODE_OK);
		assert_int_equal(asked.format, formats[i].format);
		assert_true(asked.is_over_time);
		assert_int_equal(asked.step_ns, 0);
		assert_false(asked.options.has_step);
		assert_int_equal(asked.grouping_count, 1);
		assert_string_equal(asked.by[0], "endpoint");
	}
	assert_int_equal(report("--over-time --by pid --step 1.5s"), EXIT_CODE_OK);
	assert_int_equal(asked.step_ns, 1500000000);
	assert_true(asked.options.has_step);
	assert_string_equal(asked.by[0], "pid");
}

static int report_diff(const char *before, const char *after)
{
	char *words[] = { "report", "--diff", "--by", "pid", (char *)before, (char *)after, NULL };

	memset(&asked, 0, sizeof(asked));
	return command_report(6, words);
}

FIXTURE_TEST(report_diff_compares_two_recordings)
{
	static const char *const names[] = { "table", "json", "csv", "ndjson" };
	char line[5000];

	printed = "";
	assert_int_equal(report_diff(recording, recording), EXIT_CODE_OK);
	assert_int_equal(asked.format, 'd');
	assert_string_equal(asked.by[0], "pid");
	assert_int_equal(asked.diff_rows, 2);
	assert_int_equal(asked.cpu_ns, GOLDEN_CPU_NS);
	/* A record that is in both is in both. */
	assert_int_equal(asked.after_cpu_ns, GOLDEN_CPU_NS);
	assert_int_equal(asked.double_records, 0);
	assert_int_equal(asked.options.file_count, 2);
	assert_int_equal(asked.files[1].entry_count, GOLDEN_RECORDS);
	assert_int_equal(report_diff(recording, "/nonexistent.rec"), EXIT_CODE_FAILURE);
	assert_int_equal(asked.format, 0);
	assert_int_equal(report_diff("/nonexistent.rec", recording), EXIT_CODE_FAILURE);
	for (int i = 0; i < 4; i++) {
		(void)snprintf(line, sizeof(line), "--diff -f %s --where endpoint~GET* %s",
			       names[i], recording);
		assert_int_equal(report(line), EXIT_CODE_OK);
		assert_int_equal(asked.format, "dDvV"[i]);
		assert_string_equal(asked.by[0], "endpoint");
		assert_int_equal(asked.conditions, 1);
		assert_int_equal(asked.after_conditions, 1);
		assert_int_equal(asked.options.top_count, i == 0 ? 20 : 0);
	}
}

FIXTURE_TEST(report_sums_files_and_counts_each_record_once)
{
	char *words[] = { "report", "-f", "json", recording, recording, NULL };

	printed = "";
	assert_int_equal(command_report(5, words), EXIT_CODE_OK);
	assert_int_equal(asked.options.file_count, 2);
	assert_int_equal(asked.files[1].entry_count, GOLDEN_RECORDS);
	assert_int_equal(asked.cpu_ns, GOLDEN_CPU_NS);
	assert_int_equal(asked.double_records, GOLDEN_RECORDS);
	assert_int_equal(report("/nonexistent.rec"), EXIT_CODE_FAILURE);
	assert_int_equal(asked.format, 0);
	says("/nonexistent.rec");
}

FIXTURE_TEST(report_warns_about_empty_file_and_fails_only_if_alone)
{
	assert_int_equal(report("/dev/null"), EXIT_CODE_OK);
	says("warning: /dev/null: empty");
	assert_int_equal(asked.options.file_count, 2);
	memset(&asked, 0, sizeof(asked));
	command_run(command_report, "report /dev/null", &result);
	assert_int_equal(result.code, EXIT_CODE_FAILURE);
	assert_int_equal(asked.format, 0);
	says("no records to report");
}

/* A copy of the recording with some change. */
static void report_changed(size_t head_bytes, const char *middle, size_t tail_offset)
{
	char path[] = "/tmp/test_report-XXXXXX", line[64];
	size_t size_bytes;
	char *bytes = golden_read("shop.rec", &size_bytes);
	FILE *file = fdopen(mkstemp(path), "w");

	assert_non_null(file);
	if (head_bytes > size_bytes)
		head_bytes = size_bytes - 5;
	(void)fwrite(bytes, 1, head_bytes, file);
	(void)fputs(middle, file);
	if (tail_offset < size_bytes)
		(void)fwrite(bytes + tail_offset, 1, size_bytes - tail_offset, file);
	assert_int_equal(fclose(file), 0);
	free(bytes);
	memset(&asked, 0, sizeof(asked));
	(void)snprintf(line, sizeof(line), "report %s", path);
	command_run(command_report, line, &result);
	(void)unlink(path);
}

FIXTURE_TEST(report_prints_rest_of_damaged_recording_and_fails)
{
	report_changed(0, "garbage", 0);
	assert_int_equal(result.code, EXIT_CODE_FAILURE);
	assert_int_equal(asked.format, 't');
	assert_int_equal(asked.files[0].damaged_places, 1);
	assert_int_equal(asked.files[0].damaged_bytes, strlen("garbage"));
	assert_int_equal(asked.cpu_ns, GOLDEN_CPU_NS);
	/* A last record that is cut off is no damage. */
	report_changed(SIZE_MAX, "", SIZE_MAX);
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_true(asked.files[0].is_truncated);
	assert_int_equal(asked.files[0].entry_count, GOLDEN_RECORDS - 1);
}

/* A recording of so many requests: its path. */
static const char *record_requests(unsigned int count)
{
	static char path[32];
	FILE *file;

	(void)strcpy(path, "/tmp/test_report-XXXXXX");
	file = fdopen(mkstemp(path), "w");
	assert_non_null(file);
	for (unsigned int i = 0; i < count; i++)
		(void)fprintf(file,
			      "\x92\xd7%c\x65\x53\xf1%c%c%c%c%c\x87\xa6schema\x01\xa4kind\xa3"
			      "cpu\xa9record_id\xac"
			      "b:1:1:%06u\xa9host_name\xa3web\xa3pid\x07"
			      "\xaarequest_id\xa6%06u\xa6"
			      "cpu_ns%c",
			      0, 1, 0, 0, 0, 0, i, i, i == 7 ? 127 : 1);
	assert_int_equal(fclose(file), 0);
	return path;
}

/* A request is a row once it has ended: when so many others are open. */
#define REQUESTS_FOLDED (REQUESTS_OPEN_MAX + ROWS_FOLD_AT + 10)

FIXTURE_TEST(report_folds_requests_beyond_top_into_sums)
{
	const char *path = record_requests(REQUESTS_FOLDED);
	char *words[] = { "report", "--by=request_id", "--format=json", (char *)path, NULL, NULL };

	printed = "";
	assert_int_equal(command_report(4, words), EXIT_CODE_OK);
	assert_int_equal(asked.folded_count, 0);
	assert_int_equal(asked.cpu_ns, REQUESTS_FOLDED + 126);
	words[4] = "--top=1";
	asked.largest_ns = 0;
	assert_int_equal(command_report(5, words), EXIT_CODE_OK);
	assert_true(asked.folded_count > ROWS_FOLD_AT / 4);
	assert_int_equal(asked.largest_ns, 127);
	assert_int_equal(asked.cpu_ns, REQUESTS_FOLDED + 126);
	assert_int_equal(unlink(path), 0);
}

FIXTURE_TEST(report_accepts_recording_with_single_record)
{
	const char *path = record_requests(1);
	char *words[] = { "report", (char *)path, NULL };

	printed = "";
	assert_int_equal(command_report(2, words), EXIT_CODE_OK);
	assert_int_equal(asked.cpu_ns, 1);
	assert_int_equal(
		command_report(3, (char *[]){ "report", "--by=colour", (char *)path, NULL }),
		EXIT_CODE_FAILURE);
	assert_int_equal(unlink(path), 0);
}

/* Of nothing there is no key, either. */
FIXTURE_TEST(report_accepts_any_key_without_cpu_records)
{
	char path[] = "/tmp/test_report-XXXXXX";
	size_t size_bytes;
	char *bytes = golden_read("shop.rec", &size_bytes);
	FILE *file = fdopen(mkstemp(path), "w");

	printed = "";
	assert_non_null(file);
	/* The first record says who recorded. */
	(void)fwrite(bytes, 1,
		     (size_t)((char *)memmem(bytes + 1, size_bytes - 1, bytes, 3) - bytes), file);
	assert_int_equal(fclose(file), 0);
	free(bytes);
	assert_int_equal(command_report(3, (char *[]){ "report", "--by=colour", path, NULL }),
			 EXIT_CODE_OK);
	assert_int_equal(asked.files[0].entry_count, 1);
	assert_int_equal(unlink(path), 0);
}

/* What a terminal is given as standard error, with standard output on one, too, or elsewhere. */
static const char *report_with_progress(char *option, const char *path, bool is_on_screen)
{
	const struct winsize size = { .ws_row = 25, .ws_col = 80 };
	char *words[] = { "report", option, (char *)path, NULL };
	int screen, program, saved[] = { dup(STDOUT_FILENO), dup(STDERR_FILENO) };
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	static char said[4096];
	size_t used = 0;
	ssize_t got;

	assert_int_equal(openpty(&screen, &program, NULL, NULL, &size), 0);
	(void)fflush(stdout);
	printed = "";
	(void)dup2(is_on_screen ? program : nowhere, STDOUT_FILENO);
	(void)dup2(program, STDERR_FILENO);
	(void)command_report(3, words);
	(void)fflush(stdout);
	(void)dup2(saved[0], STDOUT_FILENO);
	(void)dup2(saved[1], STDERR_FILENO);
	(void)close(saved[0]);
	(void)close(saved[1]);
	(void)close(nowhere);
	(void)close(program);
	/* To its end, as nobody has it any more. */
	while ((got = read(screen, said + used, sizeof(said) - 1 - used)) > 0)
		used += (size_t)got;
	said[used] = '\0';
	(void)close(screen);
	return said;
}

FIXTURE_TEST(report_shows_progress_on_terminal_and_clears_it)
{
	const char *path = record_requests(2050), *said;
	char expected[64];

	(void)snprintf(expected, sizeof(expected), "%s: 0.1 MiB of 0.2 MiB (", path);
	said = report_with_progress("--by=tid", path, true);
	assert_memory_equal(said, expected, strlen(expected));
	assert_non_null(strstr(said, " records/s\033[K\r"));
	assert_string_equal(said + strlen(said) - 4, "\r\033[K");
	said = report_with_progress("--alert=lost>0", path, false);
	assert_memory_equal(said, expected, strlen(expected));
	/* It would be among what is printed. */
	assert_string_equal(report_with_progress("--alert=lost>0", path, true), "");
	assert_int_equal(unlink(path), 0);
}

FIXTURE_TEST(report_width_follows_columns_variable_in_range)
{
	static const struct {
		const char *columns;
		size_t width;
	} cases[] = { { "20", 20 },    { "19", 100 }, { "1000", 1000 }, { "1001", 100 },
		      { "wide", 100 }, { "-5", 100 }, { "", 100 },	{ "132", 132 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)setenv("COLUMNS", cases[i].columns, 1);
		assert_int_equal(report(""), EXIT_CODE_OK);
		assert_int_equal(asked.options.width, cases[i].width);
		assert_int_equal(asked.options.is_endless, cases[i].width == 100);
	}
}

/* With standard output on a terminal of so many columns. */
static void report_on_screen(unsigned short columns)
{
	const struct winsize size = { .ws_row = 25, .ws_col = columns };
	int screen, program, saved = dup(STDOUT_FILENO);
	char *words[] = { "report", recording, NULL };

	assert_int_equal(openpty(&screen, &program, NULL, NULL, &size), 0);
	(void)fflush(stdout);
	(void)dup2(program, STDOUT_FILENO);
	memset(&asked, 0, sizeof(asked));
	assert_int_equal(command_report(2, words), EXIT_CODE_OK);
	(void)dup2(saved, STDOUT_FILENO);
	(void)close(saved);
	(void)close(program);
	(void)close(screen);
}

FIXTURE_TEST(report_columns_option_selects_columns_by_name)
{
	assert_int_equal(report("--columns wall_p99,cpu"), EXIT_CODE_OK);
	assert_int_equal(asked.options.column_count, 2);
	assert_int_equal(asked.columns[0], FIGURE_WALL_P99);
	assert_int_equal(asked.columns[1], FIGURE_CPU);
}

FIXTURE_TEST(report_filters_by_value_and_time)
{
	assert_int_equal(report("--where endpoint=a --where tid~7* --since 1h --until 2h"),
			 EXIT_CODE_OK);
	assert_int_equal(asked.conditions, 2);
	assert_int_equal(asked.cpu_ns, 0);
	assert_int_equal(report("--until 1h"), EXIT_CODE_OK);
	assert_int_equal(asked.cpu_ns, GOLDEN_CPU_NS);
}

FIXTURE_TEST(report_width_follows_terminal_without_columns_variable)
{
	static const struct {
		unsigned short columns;
		size_t width;
	} cases[] = { { 20, 20 },     { 19, 100 },    { 0, 100 },  { 120, 120 },
		      { 1000, 1000 }, { 1001, 1000 }, { 999, 999 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		report_on_screen(cases[i].columns);
		assert_int_equal(asked.options.width, cases[i].width);
	}
	(void)setenv("COLUMNS", "77", 1);
	report_on_screen(120);
	assert_int_equal(asked.options.width, 77);
}

FIXTURE_TEST(report_on_terminal_is_bold_unless_no_color_is_set)
{
	report_on_screen(80);
	assert_true(asked.options.is_bold);
	(void)setenv("NO_COLOR", "", 1);
	report_on_screen(80);
	assert_true(asked.options.is_bold);
	(void)setenv("NO_COLOR", "1", 1);
	report_on_screen(80);
	assert_false(asked.options.is_bold);
}

/* What standard output is, and the exit status then. */
static int report_to(int output, const char *text)
{
	int saved = dup(STDOUT_FILENO);
	char *words[] = { "report", recording, NULL };
	struct ears ears;
	int code;

	printed = text;
	(void)fflush(stdout);
	(void)dup2(output, STDOUT_FILENO);
	(void)close(output);
	ears = ears_open();
	code = command_report(2, words);
	ears_close(&ears, result.error, sizeof(result.error));
	(void)dup2(saved, STDOUT_FILENO);
	(void)close(saved);
	__fpurge(stdout);
	clearerr(stdout);
	return code;
}

FIXTURE_TEST(report_ignores_closed_pipe_and_fails_on_full_disk)
{
	static char much[65536];
	int ends[2];

	memset(much, 'x', sizeof(much) - 1);
	(void)signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 2; i++) {
		/* It is written at the end, or while it is printed. */
		const char *text = i ? much : "the report\n";

		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		(void)close(ends[0]);
		assert_int_equal(report_to(ends[1], text), EXIT_CODE_OK);
		assert_string_equal(result.error, "");
		assert_int_equal(report_to(open("/dev/full", O_WRONLY | O_CLOEXEC), text),
				 EXIT_CODE_FAILURE);
		says("cannot write the report");
	}
}

FIXTURE_TEST(report_fails_if_formatter_fails)
{
	format_code = -ENOMEM;
	assert_int_equal(report(""), EXIT_CODE_FAILURE);
	says("cannot report: Cannot allocate memory");
}

/* Whichever piece of it is missing, once. */
static void without_memory_it_fails(const char *arguments)
{
	size_t given = 0;

	for (;; given++) {
		memory_fails_once_after(given);
		(void)report(arguments);
		memory_never_fails();
		if (!memory_failures())
			break;
		assert_int_equal(result.code, EXIT_CODE_FAILURE);
		assert_int_equal(asked.format, 0);
		says("Cannot allocate memory");
	}
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_true(given > 10);
}

FIXTURE_TEST(report_alert_fails_without_memory)
{
	size_t given = 0;

	for (;; given++) {
		memory_fails_once_after(given);
		(void)report("--alert lost>1000");
		memory_never_fails();
		if (!memory_failures())
			break;
		assert_true(result.code == EXIT_CODE_FAILURE || result.code == EXIT_CODE_USAGE);
		says("Cannot allocate memory");
	}
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_true(given > 5);
}

FIXTURE_TEST(report_fails_without_memory_in_each_mode)
{
	char line[5000];

	without_memory_it_fails("--by tid");
	assert_int_equal(asked.cpu_ns, GOLDEN_CPU_NS);
	without_memory_it_fails("--request req-1");
	without_memory_it_fails("--over-time");
	without_memory_it_fails("--slowest=99%");
	(void)snprintf(line, sizeof(line), "--diff %s", recording);
	without_memory_it_fails(line);
}

FIXTURE_TEST(report_request_prints_story_as_text_or_json)
{
	assert_int_equal(report("--request req-1"), EXIT_CODE_OK);
	assert_string_equal(result.output, "the report\n");
	assert_int_equal(asked.format, 's');
	assert_int_equal(asked.grouping_count, 1);
	assert_string_equal(asked.by[0], "endpoint");
	assert_int_equal(asked.options.top_count, 20);
	assert_int_equal(asked.cpu_ns, GOLDEN_CPU_NS);
	assert_int_equal(report("-r req-1 --format json"), EXIT_CODE_OK);
	assert_int_equal(asked.format, 'S');
	assert_int_equal(asked.options.top_count, 0);
	format_code = -ENOMEM;
	assert_int_equal(report("-r req-1"), EXIT_CODE_FAILURE);
	says("cannot report: Cannot allocate memory");
}

FIXTURE_TEST(report_rejects_unknown_request_and_suggests_similar_ids)
{
	assert_int_equal(report("--request req-1x"), EXIT_CODE_FAILURE);
	assert_int_equal(asked.format, 0);
	says("no request req-1x in the recording; like it: req-1, req-2, req-3 (all are in "
	     "`correlator report --by request_id --top 0')");
	assert_int_equal(report("--request nix"), EXIT_CODE_FAILURE);
	says("no request nix in the recording (all are in");
	assert_int_equal(report("--request req-1 --where endpoint=nix"), EXIT_CODE_FAILURE);
	says("request req-1 is excluded by --where");
}
