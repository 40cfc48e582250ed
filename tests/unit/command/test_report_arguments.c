/* SPDX-License-Identifier: GPL-2.0-only */
/* What a report is to be of by each option, and which of them do not go together. */
#include "command/report_arguments.h"

#include <errno.h>
#include <stdlib.h>

#include "unit_test.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "command_line.h"

static struct report_options options;
static struct command_result result;

static int parse(int argc, char **argv)
{
	return report_arguments_parse(argc, argv, &options) ? EXIT_CODE_OK : EXIT_CODE_USAGE;
}

static int free_options(void **state)
{
	(void)state;
	report_arguments_deinit(&options);
	options = (struct report_options){ 0 };
	return 0;
}

/* Its options are those of the line, whose words stay where they are. */
static const struct report_options *take(const char *arguments)
{
	char line[2048];

	(void)free_options(NULL);
	(void)snprintf(line, sizeof(line), "report %s", arguments);
	command_run(parse, line, &result);
	if (result.code != EXIT_CODE_OK || result.error[0] || result.output[0])
		fail_msg("%s: code %d: %s", arguments, result.code, result.error);
	return &options;
}

static void refuse(const char *arguments, const char *says)
{
	char line[2048];

	(void)free_options(NULL);
	(void)snprintf(line, sizeof(line), "report %s", arguments);
	command_run_apart(parse, line, &result);
	/* And no error of the kernel's. */
	if (result.code != EXIT_CODE_USAGE || result.output[0] || !strstr(result.error, says) ||
	    strstr(result.error, strerror(EPERM)))
		fail_msg("%s: code %d: %s", arguments, result.code, result.error);
}

#define FIXTURE_TEST(test) TEST_WITH(test, NULL, free_options)

FIXTURE_TEST(report_arguments_default_to_table_of_20_rows)
{
	const struct report_options *wanted = take("a.rec");

	assert_int_equal(wanted->path_count, 1);
	assert_string_equal(wanted->paths[0], "a.rec");
	assert_int_equal(wanted->sort, FIGURE_CPU);
	assert_int_equal(wanted->format, FORMAT_TABLE);
	assert_int_equal(wanted->top_count, 20);
	assert_int_equal(take("a.rec b.rec")->path_count, 2);
	assert_string_equal(options.paths[1], "b.rec");
}

/* What can be asked for by one option. */
enum {
	BY = 1 << 0,
	REQUEST = 1 << 1,
	OF_ROWS = 1 << 2,
	SORT = 1 << 3,
	COLUMNS = 1 << 4,
	DIFF = 1 << 5,
	OVER_TIME = 1 << 6,
	STEP = 1 << 7,
	SLOWEST = 1 << 8,
	PERCENT = 1 << 9,
	TOP = 1 << 10,
	FORMAT = 1 << 11,
	WHERE = 1 << 12,
	SINCE = 1 << 13,
	UNTIL = 1 << 14,
	HTML = 1 << 15,
	COMPARE = 1 << 16,
	ALERT = 1 << 17,
	STACKS = 1 << 18,
	BOTTOM_UP = 1 << 19,
	SYSCALLS = 1 << 20,
	OFF_CPU = 1 << 21,
	BOOKS = 1 << 22,
	COST = 1 << 23,
	IO = 1 << 24,
};

FIXTURE_TEST(report_arguments_set_only_their_own_fields)
{
	static const struct {
		const char *arguments;
		unsigned int asks_for;
	} cases[] = {
		{ "json", 0 },
		{ "--by cpu json", BY | OF_ROWS },
		{ "--request cpu json", REQUEST },
		{ "--sort wall json", SORT | OF_ROWS },
		{ "--columns cpu json", COLUMNS | OF_ROWS },
		{ "--diff json b", DIFF },
		{ "--stacks json", STACKS },
		{ "--stacks=top-down json", STACKS },
		{ "--stacks=bottom-up json", STACKS | BOTTOM_UP },
		{ "--stacks bottom-up json", STACKS | BOTTOM_UP },
		{ "--stacks json bottom-up", STACKS | BOTTOM_UP },
		{ "--stacks top-down json", STACKS },
		{ "--books json", BOOKS },
		{ "--cost json", COST },
		{ "--books --cost --over-time json", BOOKS | COST | OVER_TIME | OF_ROWS },
		{ "--stacks --format json json", STACKS | FORMAT },
		{ "--stacks --diff json b", STACKS | DIFF },
		{ "--stacks --off-cpu json", STACKS | OFF_CPU },
		{ "--stacks --off-cpu --diff json b", STACKS | OFF_CPU | DIFF },
		{ "--syscalls json", SYSCALLS },
		{ "--syscalls --request cpu json", SYSCALLS | REQUEST },
		{ "--syscalls --by cpu json", SYSCALLS | BY | OF_ROWS },
		{ "--syscalls --format ndjson json", SYSCALLS | FORMAT },
		{ "--io json", IO },
		{ "--io --request cpu json", IO | REQUEST },
		{ "--io --by cpu --format csv json", IO | BY | OF_ROWS | FORMAT },
		{ "--over-time json", OVER_TIME | OF_ROWS },
		{ "--over-time --step 7 json", OVER_TIME | OF_ROWS | STEP },
		{ "--slowest json", SLOWEST | OF_ROWS },
		{ "--slowest=7 json", SLOWEST | OF_ROWS | TOP },
		{ "--slowest=7% json", SLOWEST | OF_ROWS | PERCENT },
		{ "--top 7 json", TOP },
		{ "--format csv json", FORMAT },
		{ "--where cpu=7 json", WHERE },
		{ "--since 7 json", SINCE },
		{ "--until 7 json", UNTIL },
		{ "--html 7 json", HTML },
		{ "--html 7 --compare 8 json", HTML | COMPARE },
		{ "--alert lost>7 json", ALERT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct report_options *wanted = take(cases[i].arguments);
		unsigned int found;

		found = (wanted->by ? BY : 0) | (wanted->request ? REQUEST : 0) |
			(wanted->is_of_rows ? OF_ROWS : 0) | (wanted->has_sort ? SORT : 0) |
			(wanted->column_count ? COLUMNS : 0) | (wanted->is_diff ? DIFF : 0) |
			(wanted->is_syscalls ? SYSCALLS : 0) | (wanted->is_io ? IO : 0) |
			(wanted->is_stacks ? STACKS : 0) | (wanted->is_bottom_up ? BOTTOM_UP : 0) |
			(wanted->measure == STACKS_OFF_CPU ? OFF_CPU : 0) |
			(wanted->has_books ? BOOKS : 0) | (wanted->has_cost ? COST : 0) |
			(wanted->is_over_time ? OVER_TIME : 0) | (wanted->step_ns ? STEP : 0) |
			(wanted->is_slowest ? SLOWEST : 0) |
			(wanted->slowest_percent > 0 ? PERCENT : 0) | (wanted->has_top ? TOP : 0) |
			(wanted->format != FORMAT_TABLE ? FORMAT : 0) |
			(wanted->filter.condition_count ? WHERE : 0) |
			(wanted->filter.since.is_set ? SINCE : 0) |
			(wanted->filter.until.is_set ? UNTIL : 0) | (wanted->html ? HTML : 0) |
			(wanted->compare ? COMPARE : 0) | (wanted->alerts ? ALERT : 0);
		if (found != cases[i].asks_for || strcmp(wanted->paths[0], "json") != 0)
			fail_msg("%s: 0x%x, not 0x%x", cases[i].arguments, found,
				 cases[i].asks_for);
	}
}

FIXTURE_TEST(report_arguments_keep_values_of_options)
{
	static const char *const formats[] = { "table", "json", "csv", "ndjson" };
	char line[64];

	assert_string_equal(take("--by pid,tid a")->by, "pid,tid");
	assert_string_equal(take("--request 12 a")->request, "12");
	assert_int_equal(take("--sort wall_p99 a")->sort, FIGURE_WALL_P99);
	assert_true(take("--over-time --step 1.5s a")->step_ns == 1500 * NS_PER_MS);
	assert_true(take("--over-time --step 1ns a")->step_ns == 1);
	assert_true(take("--since 30s a")->filter.since.is_relative);
	assert_true(options.filter.since.ns == 30 * NS_PER_S);
	assert_true(take("--until 2023-11-14T22:13:20Z a")->filter.until.ns ==
		    1700000000 * NS_PER_S);
	assert_string_equal(take("--html x.html --compare y.rec a")->html, "x.html");
	assert_string_equal(options.compare, "y.rec");
	assert_int_equal(alert_set_count(take("--alert lost>1 --alert lost>2 a")->alerts), 2);
	for (int format = 0; format < _FORMAT_MAX; format++) {
		(void)snprintf(line, sizeof(line), "--format %s a", formats[format]);
		assert_int_equal(take(line)->format, format);
	}
}

FIXTURE_TEST(report_arguments_columns_are_limited_to_figure_count)
{
	char line[512] = "--columns cpu";

	assert_int_equal(take("--columns cpu,wall_p99 a")->column_count, 2);
	assert_int_equal(options.columns[0], FIGURE_CPU);
	assert_int_equal(options.columns[1], FIGURE_WALL_P99);
	/* The last one counts. */
	assert_int_equal(take("--columns cpu,user --columns ,blocked, a")->column_count, 1);
	assert_int_equal(options.columns[0], FIGURE_BLOCKED);
	for (int i = 0; i < _FIGURE_MAX; i++)
		(void)strcat(line, ",cpu");
	(void)strcat(line, " a");
	assert_int_equal(take(line)->column_count, _FIGURE_MAX);
	assert_false(options.has_sort);
	line[strlen(line) - strlen(" a")] = '\0';
	(void)strcat(line, " --sort user a");
	assert_int_equal(take(line)->column_count, _FIGURE_MAX);
	assert_int_equal(options.columns[_FIGURE_MAX - 1], FIGURE_CPU);
}

FIXTURE_TEST(report_arguments_row_count_default_depends_on_format)
{
	static const struct {
		const char *arguments;
		size_t top_count;
		enum figure sort;
	} cases[] = {
		{ "--top 0 a", 0, FIGURE_CPU },
		{ "--top 7 a", 7, FIGURE_CPU },
		{ "-f json a", 0, FIGURE_CPU },
		{ "-f csv a", 0, FIGURE_CPU },
		{ "-f ndjson -n 7 a", 7, FIGURE_CPU },
		{ "--html x a", 1000, FIGURE_CPU },
		{ "--html x --top 7 a", 7, FIGURE_CPU },
		{ "--slowest a", 20, FIGURE_WALL },
		{ "--slowest -f json a", 20, FIGURE_WALL },
		{ "--slowest=1 a", 1, FIGURE_WALL },
		{ "--slowest=7 -f json a", 7, FIGURE_WALL },
		{ "--slowest --sort cpu a", 20, FIGURE_CPU },
		{ "--slowest=99% a", 20, FIGURE_WALL },
		{ "--slowest=99% -f json a", 0, FIGURE_WALL },
		{ "--slowest=99% -f json --top 7 a", 7, FIGURE_WALL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct report_options *wanted = take(cases[i].arguments);

		if (wanted->top_count != cases[i].top_count || wanted->sort != cases[i].sort)
			fail_msg("%s: %zu rows by %d", cases[i].arguments, wanted->top_count,
				 wanted->sort);
	}
	assert_true(take("--slowest=99.5% a")->slowest_percent == 99.5);
}

FIXTURE_TEST(report_arguments_accept_compatible_options)
{
	static const char *const cases[] = {
		"--request r -f json --top 7 --where pid=1 --since 1s a",
		"--diff --by pid -f json --top 7 --where pid=1 a b",
		"--slowest --sort cpu --columns cpu,wall a",
		"--over-time --step 1s --by pid -f ndjson a",
		"--html x --by tenant --sort user --columns cpu --where pid=1 a",
		"--alert lost>1 --since 1s --until 2s a b",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		(void)take(cases[i]);
}

FIXTURE_TEST(report_arguments_reject_conflicting_options)
{
	static const struct {
		const char *arguments, *says;
	} cases[] = {
		{ "--request r --by pid a", "--request reports one request" },
		{ "--request r --sort cpu a", "--request reports one request" },
		{ "--request r --columns cpu a", "--request reports one request" },
		{ "--request r --over-time a", "--request reports one request" },
		{ "--request r --slowest a", "--request reports one request" },
		{ "--slowest --by pid a", "--slowest lists requests" },
		{ "--step 1s a", "--step needs --over-time" },
		{ "--step 1ns a", "--step needs --over-time" },
		{ "--over-time --slowest a", "--over-time has columns of its own" },
		{ "--over-time --sort cpu a", "--over-time has columns of its own" },
		{ "--over-time --columns cpu a", "--over-time has columns of its own" },
		{ "--diff a", "--diff takes two recordings" },
		{ "--diff a b c", "--diff takes two recordings" },
		{ "--diff --sort cpu a b", "--diff has columns of its own" },
		{ "--diff --columns cpu a b", "--diff has columns of its own" },
		{ "--diff --slowest a b", "--diff has columns of its own" },
		{ "--diff --over-time a b", "--diff has columns of its own" },
		{ "--diff --by request_id a b", "it does not go with --by request_id" },
		{ "--diff --request r a b", "it does not go with --request" },
		{ "--books --stacks a", "--books and --cost apply to tables" },
		{ "--cost --request r a", "--books and --cost apply to tables" },
		{ "--books --diff a b", "--books and --cost apply to tables" },
		{ "--cost --html x a", "--books and --cost apply to tables" },
		{ "--books --syscalls a", "--books and --cost apply to tables" },
		{ "--cost --io a", "--books and --cost apply to tables" },
		{ "--cost --alert lost>1 a", "--books and --cost apply to tables" },
		{ "--stacks=sideways a", "--stacks takes top-down or bottom-up" },
		{ "--off-cpu a", "--off-cpu needs --stacks" },
		{ "--stacks --by pid a", "--stacks prints a tree of its own" },
		{ "--stacks=bottom-up --diff a b", "--stacks --diff compares methods" },
		{ "--syscalls --slowest a", "--syscalls prints a table of its own" },
		{ "--syscalls --over-time a", "--syscalls prints a table of its own" },
		{ "--syscalls --sort cpu a", "--syscalls prints a table of its own" },
		{ "--syscalls --columns cpu a", "--syscalls prints a table of its own" },
		{ "--syscalls --diff a b", "--syscalls prints a table of its own" },
		{ "--syscalls --html x a", "--syscalls prints a table of its own" },
		{ "--syscalls --alert lost>1 a", "--syscalls prints a table of its own" },
		{ "--syscalls --by pid a", "groups by one key of the records, not by pid" },
		{ "--syscalls --by a,b a", "groups by one key of the records, not by a,b" },
		{ "--syscalls --stalls a", "--syscalls prints a table of its own" },
		{ "--io --slowest a", "--io prints a table of its own" },
		{ "--io --syscalls a", "--syscalls prints a table of its own" },
		{ "--io --stalls a", "--io prints a table of its own" },
		{ "--io --html x a", "--io prints a table of its own" },
		{ "--io --by pid a", "--io groups by one key of the records, not by pid" },
		{ "--compare b a", "--compare needs --html" },
		{ "--html x -f json a", "--html and --format" },
		{ "--html x --diff a b", "a page holds the whole report" },
		{ "--html x --over-time a", "a page holds the whole report" },
		{ "--html x --slowest a", "a page holds the whole report" },
		{ "--html x --request r a", "a page holds the whole report" },
		{ "--html x --by pid a", "by one key of the records, not by pid" },
		{ "--html x --by a,b a", "by one key of the records, not by a,b" },
		{ "--alert lost>1 --by pid a", "it goes only with --since and --until" },
		{ "--alert lost>1 --top 7 a", "it goes only with --since and --until" },
		{ "--alert lost>1 --diff a b", "it goes only with --since and --until" },
		{ "--alert lost>1 --request r a", "it goes only with --since and --until" },
		{ "--alert lost>1 --html x a", "it goes only with --since and --until" },
		{ "--alert lost>1 -f json a", "it goes only with --since and --until" },
		{ "--alert lost>1 --where pid=1 a", "it goes only with --since and --until" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuse(cases[i].arguments, cases[i].says);
}

FIXTURE_TEST(report_arguments_reject_invalid_values)
{
	static const struct {
		const char *arguments, *says;
	} cases[] = {
		{ "--no-such-option a", "no-such-option" },
		{ "--by= a", "up to 4 different ones with commas, not ''" },
		{ "--by endpoint,,pid a", "with commas, not 'endpoint,,pid'" },
		{ "--by a,b,c,d,e a", "up to 4 different ones" },
		{ "--format xml a", "unknown format 'xml': one of table, json, csv, ndjson" },
		{ "--sort colour a", "unknown field 'colour' to sort by: one of key, key_2, " },
		{ "--sort colour a", ", began" },
		{ "--columns cpu,colour a", "unknown column 'colour'" },
		{ "--columns , a", "--columns takes the names of columns" },
		{ "--top -1 a", "--top takes a number, not '-1'" },
		{ "--top 9x a", "--top takes a number, not '9x'" },
		{ "--step 0 --over-time a", "--step takes a duration such as 10s, not '0'" },
		{ "--step x --over-time a", "--step takes a duration such as 10s, not 'x'" },
		{ "--where endpoint a", "KEY=VALUE or KEY~PATTERN, not 'endpoint'" },
		{ "--since soon a", "--since takes a time such as" },
		{ "--since soon a", "not 'soon'" },
		{ "--until -1s a", "--until takes a time such as" },
		{ "--alert lost a", "--alert: not a comparison" },
		{ "--alert lost --alert lost>1 a", "--alert: not a comparison" },
	};
	static const char *const slowest[] = { "0",    "-1", "x",   "0%",  "100%",
					       "nan%", "%",  "5%%", "5.5", "" };
	char line[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuse(cases[i].arguments, cases[i].says);
	for (size_t i = 0; i < sizeof(slowest) / sizeof(slowest[0]); i++) {
		char says[64];

		(void)snprintf(line, sizeof(line), "--slowest=%s a", slowest[i]);
		(void)snprintf(says, sizeof(says), "a percentile such as 99%%, not '%s'",
			       slowest[i]);
		refuse(line, says);
	}
}

FIXTURE_TEST(report_arguments_reject_more_than_16_conditions)
{
	char line[256] = "a";

	for (int i = 0; i < 16; i++)
		(void)strcat(line, " --where a=b");
	assert_int_equal(take(line)->filter.condition_count, 16);
	(void)strcat(line, " --where a=b");
	refuse(line, "at most 16 conditions");
}

FIXTURE_TEST(report_arguments_default_to_file_written_by_record)
{
	char folder[] = "/tmp/test_report_arguments-XXXXXX", from[4096];

	assert_non_null(getcwd(from, sizeof(from)));
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	refuse("", "there is no correlator.msgpack here: name the recordings to read, or -");
	/* It is there, and opening it says what is wrong. */
	assert_int_equal(symlink("correlator.msgpack", "correlator.msgpack"), 0);
	assert_int_equal(take("--by pid")->path_count, 1);
	assert_string_equal(options.paths[0], "correlator.msgpack");
	assert_int_equal(unlink("correlator.msgpack"), 0);
	assert_int_equal(chdir(from), 0);
	assert_int_equal(rmdir(folder), 0);
}
