/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/report_arguments.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/text.h"
#include "command/alert_arguments.h"
#include "command/arguments.h"
#include "command/command.h"
#include "command/filter_arguments.h"
#include "command/streams.h"

enum {
	TOP_COUNT_TABLE = 20, /* default of --top in the table; JSON and CSV give all */
	TOP_COUNT_PAGE = 1000, /* in the table of a page without scripts */
};

/* Options without a letter. */
enum {
	OPTION_SORT = 's',
	OPTION_SLOWEST = 256,
	OPTION_OVER_TIME,
	OPTION_STEP,
	OPTION_DIFF,
	OPTION_ALERT,
	OPTION_STACKS,
	OPTION_SYSCALLS,
	OPTION_IO,
	OPTION_STALLS,
	OPTION_OFF_CPU,
	OPTION_BOOKS,
	OPTION_COST,
};

static const char *const format_names[_FORMAT_MAX] = { "table", "json", "csv", "ndjson" };

static const struct argp_option argp_options[] = {
	{ "by", 'b', "KEY,...", 0,
	  "Group attributed time by a recorded key (default endpoint if it is recorded, else "
	  "request_id, else the first key), or all time by what ran: pid, tid, comm, "
	  "thread_name, host_name, or by attribution. Several keys: one row per combination",
	  0 },
	{ "sort", OPTION_SORT, "FIELD", 0,
	  "Sort by a figure, the largest first (default cpu), or, ascending, by key (key_2 to "
	  "key_4 of several keys) or by a name",
	  0 },
	{ "request", 'r', "ID", 0,
	  "Tell the story of the request with this request_id: what each thread did for it and "
	  "when, and what else ran meanwhile; to the microsecond with the slices of `record "
	  "--timeline', else by window",
	  0 },
	{ "columns", 'c', "FIELD,...", 0,
	  "Columns of the table: the fields that --sort takes, and the one of --sort (default: "
	  "in a terminal those that fit, elsewhere all)",
	  0 },
	{ "top", 'n', "N", 0,
	  "Show the first N groups (default 20 in a table, 8 and 5 in two tables, else 0 = all)",
	  0 },
	{ "books", OPTION_BOOKS, NULL, 0,
	  "Show all of the books: what ran according to the kernel, where it went, and what was "
	  "missed; also ended processes, the system, the keys, and which threads ran in no "
	  "context",
	  0 },
	{ "cost", OPTION_COST, NULL, 0, "Show all that watching cost: CPU, programs, memory, maps",
	  0 },
	{ "format", 'f', "FORMAT", 0,
	  "table (default), json, csv, or ndjson (one line of JSON per row)", 0 },
	{ "where", 'w', "KEY=VALUE", 0,
	  "Only what has this value or, with KEY~PATTERN, matches a pattern with * ? [...] "
	  "(repeatable: all must hold). KEY is a recorded key, or pid, tid, comm, thread_name, "
	  "host_name",
	  0 },
	{ "since", 'S', "TIME", 0,
	  "Only windows that end after TIME: 2026-11-22T10:15:00Z, 10:15:00 in local time, or a "
	  "duration from the first record on, such as 30s",
	  0 },
	{ "slowest", OPTION_SLOWEST, "N|P%", OPTION_ARG_OPTIONAL,
	  "The N requests (default 20) that took longest, and when each began; with P%, such as "
	  "99%, all above that percentile of their endpoint. With --sort cpu, those that used "
	  "most CPU",
	  0 },
	{ "diff", OPTION_DIFF, NULL, 0,
	  "Compare two recordings: mean and 99th percentile of the CPU and wall time of the "
	  "requests of each endpoint, before and after, and whether the difference is significant",
	  0 },
	{ "over-time", OPTION_OVER_TIME, NULL, 0,
	  "Show what each window used (in a table at most 60 steps), in total and by endpoint, "
	  "or --by another key",
	  0 },
	{ "step", OPTION_STEP, "TIME", 0, "With --over-time: length of a step, such as 10s", 0 },
	{ "stacks", OPTION_STACKS, "ORDER", OPTION_ARG_OPTIONAL,
	  "Show in which code the CPU was used, as a tree, top-down (default) or bottom-up, and "
	  "by method: of all requests, of those that --where selects, or of the --slowest ones. "
	  "With --diff: what changed, by method. Needs a recording with stacks",
	  0 },
	{ "off-cpu", OPTION_OFF_CPU, NULL, 0,
	  "With --stacks: show where threads waited, blocked or for a CPU, and for exactly how "
	  "long. Needs a recording with --stacks=off-cpu",
	  0 },
	{ "syscalls", OPTION_SYSCALLS, NULL, 0,
	  "Show which system calls were made, by endpoint (or --by KEY), how many per request, "
	  "and the time spent in them; goes with --where, --since, --until, --request, --top and "
	  "--format. Needs a recording with --syscalls",
	  0 },
	{ "io", OPTION_IO, NULL, 0,
	  "Show what was read and written, by endpoint (or --by KEY): on which kind of file and "
	  "with which peer, in how many calls, how many bytes, and how long connects and answers "
	  "of DNS took; goes with --where, --since, --until, --request, --top and --format. Needs "
	  "a recording with --io",
	  0 },
	{ "stalls", OPTION_STALLS, NULL, 0,
	  "Show the long waits of requests: what ended them, by endpoint (or --by KEY), and the "
	  "longest ones, with what each was on; goes with --where, --since, --until, --request, "
	  "--top and --format. Needs a recording with --stall",
	  0 },
	{ "until", 'U', "TIME", 0, "Only windows that end at TIME or before", 0 },
	{ "html", 'H', "PAGE", 0,
	  "Write the report as one page for a browser instead, which can show any span of time "
	  "and any group (-: standard output)",
	  0 },
	{ "compare", 'C', "FILE", 0, "With --html: show this recording beside, for each group", 0 },
	{ "alert", OPTION_ALERT, "EXPRESSION", 0,
	  "Print no report, but a line whenever EXPRESSION, as record takes it, would have begun "
	  "to hold, and when it ended (repeatable)",
	  0 },
	{ 0 },
};

static const char argp_doc[] =
	"Say which request burned the CPU, from recordings made by `correlator record'. "
	"FILE - is standard input, read to its end: the first Ctrl-C ends the writer of the pipe. Several "
	"files are added up.\v"
	"Without FILE, " COMMAND_RECORDING ", which record writes by default.\n"
	"\n"
	"A group shows the number of its requests, and the mean, percentiles and maximum of their CPU "
	"and of their wall time, from the first activity of a request to its last. A percentile is off "
	"by less than 1 %.\n"
	"\n"
	"cpu = user + kernel. run queue is time ready to run without a CPU, blocked is time asleep, "
	"and blocked on names the reason for most of it. share is a share of the CPU of all observed "
	"processes. Time in no context is the row `unattributed'. \"-\" means not measured, never "
	"zero.\n"
	"\n"
	"By pid, tid, comm or thread_name a row holds all time, attributed or not. % CPU is a "
	"percentage of one CPU, % machine of all CPUs, from the start of the first window to the end "
	"of the last one.\n"
	"\n"
	"Examples:\n"
	"  correlator report app.rec\n"
	"  correlator report --by endpoint --sort wall_p99 app.rec\n"
	"  correlator report --slowest app.rec\n"
	"  correlator report --slowest=99% --where 'endpoint~GET *' app.rec\n"
	"  correlator report --request req-17 app.rec\n"
	"  correlator report --columns requests,cpu,cpu_p99,wall_p99,blocked app.rec\n"
	"  correlator report --where 'endpoint~GET /orders*' --since 30s --until 40s app.rec\n"
	"  correlator report --over-time --step 10s app.rec\n"
	"  correlator report --stacks --where 'endpoint=GET /orders/:id' app.rec\n"
	"  correlator report --stacks=bottom-up --slowest=99% app.rec\n"
	"  correlator report --diff monday.rec tuesday.rec\n"
	"  correlator report --stacks --diff monday.rec tuesday.rec\n"
	"  correlator report --syscalls --where 'endpoint=GET /audit' app.rec\n"
	"  correlator report --io --where 'endpoint=GET /audit' app.rec\n"
	"  correlator report --stalls stalls.rec\n"
	"  correlator report --by pid app.rec\n"
	"  correlator report --by endpoint,host_name monday.rec tuesday.rec\n"
	"  correlator report --format csv --by tid monday.rec tuesday.rec > threads.csv\n"
	"  correlator report --html app.html app.rec\n"
	"  correlator report --html change.html --compare tuesday.rec monday.rec\n"
	"  correlator report --alert 'p99(cpu) > 50ms for 30s by endpoint' app.rec || page-somebody\n"
	"  correlator record -p 4242 -d 10 -o - | correlator report -\n"
	"\n"
	"Exit status: 0 ok, 1 a file cannot be read, or is damaged (the rest of it is still reported; a "
	"last record that is cut off is no damage), 2 usage, 5 an alert of --alert fired.";

static void parse_by(struct report_options *options, const char *keys, struct argp_state *state)
{
	if (!grouping_is_by(keys))
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "--by takes a key, or up to %d different ones with commas, not '%s'",
			       GROUPING_KEYS_MAX, keys);
	options->by = keys;
}

static void parse_format(struct report_options *options, const char *name, struct argp_state *state)
{
	for (int format = 0; format < _FORMAT_MAX; format++) {
		if (strcmp(name, format_names[format]) == 0) {
			options->format = (enum output_format)format;
			return;
		}
	}
	arguments_fail(state, EXIT_CODE_USAGE, 0,
		       "unknown format '%s': one of table, json, csv, ndjson", name);
}

static bool is_any(enum figure figure, const void *context)
{
	(void)figure;
	(void)context;
	return true;
}

static void parse_sort(struct report_options *options, const char *name, struct argp_state *state)
{
	char names[1024];

	if (figure_find(name, &options->sort) == 0)
		return;
	figure_list(is_any, NULL, names, sizeof(names));
	arguments_fail(state, EXIT_CODE_USAGE, 0, "unknown field '%s' to sort by: one of %s", name,
		       names);
}

static void parse_columns(struct report_options *options, char *names, struct argp_state *state)
{
	const char *name;
	char *rest = NULL;
	enum figure field;

	options->column_count = 0;
	for (name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		if (figure_find(name, &field) < 0)
			arguments_fail(
				state, EXIT_CODE_USAGE, 0,
				"unknown column '%s': --columns takes the fields that --sort "
				"takes",
				name);
		else if (options->column_count < _FIGURE_MAX)
			options->columns[options->column_count++] = field;
	}
	if (options->column_count == 0)
		arguments_fail(state, EXIT_CODE_USAGE, 0, "--columns takes the names of columns");
}

static void parse_top(struct report_options *options, const char *text, struct argp_state *state)
{
	uint64_t count;

	if (arguments_parse_number(text, 0, SIZE_MAX, &count) < 0)
		arguments_fail(state, EXIT_CODE_USAGE, 0, "--top takes a number, not '%s'", text);
	options->top_count = (size_t)count;
	options->has_top = true;
}

static void parse_slowest(struct report_options *options, const char *text,
			  struct argp_state *state)
{
	double percent;
	uint64_t count;
	char *end;

	options->is_slowest = true;
	if (!text)
		return;
	if (arguments_parse_number(text, 1, SIZE_MAX, &count) == 0) {
		options->top_count = (size_t)count;
		options->has_top = true;
		return;
	}
	percent = strtod(text, &end);
	if (end == text || strcmp(end, "%") != 0 || !(percent > 0 && percent < 100))
		arguments_fail(
			state, EXIT_CODE_USAGE, 0,
			"--slowest takes a number of requests, or a percentile such as 99%%, "
			"not '%s'",
			text);
	options->slowest_percent = percent;
}

static bool is_order(const char *text)
{
	return strcmp(text, "bottom-up") == 0 || strcmp(text, "top-down") == 0;
}

static void parse_stacks(struct report_options *options, const char *order,
			 struct argp_state *state)
{
	options->is_stacks = true;
	options->is_bottom_up = order && strcmp(order, "bottom-up") == 0;
	if (order && !is_order(order))
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "--stacks takes top-down or bottom-up, not '%s'", order);
}

/* Accepts `--stacks bottom-up' without the =, which argp takes for a file, if no such file exists.
 */
static void take_order(struct report_options *options, struct argp_state *state)
{
	for (size_t i = 0; options->is_stacks && i < options->path_count; i++) {
		char *word = options->paths[i];

		if (!is_order(word) || access(word, F_OK) == 0)
			continue;
		parse_stacks(options, word, state);
		for (options->path_count--; i < options->path_count; i++)
			options->paths[i] = options->paths[i + 1];
		if (options->path_count == 0) {
			options->paths = streams_default_paths(state);
			options->path_count = 1;
		}
	}
}

static void check_request(const struct report_options *options, struct argp_state *state)
{
	if (!options->request)
		return;
	if (options->is_of_rows)
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "--request reports one request: --by, --sort and --columns "
			       "apply to tables of groups");
}

static void check_diff(const struct report_options *options, struct argp_state *state)
{
	if (!options->is_diff)
		return;
	if (options->path_count != 2)
		arguments_refuse(state, "--diff takes two recordings: before and after");
	if (options->is_over_time || options->is_slowest || options->has_sort ||
	    options->column_count > 0)
		arguments_refuse(state, "--diff has columns of its own: it does not go with "
					"--over-time, --slowest, --sort or --columns");
	if (options->by && strcmp(options->by, "request_id") == 0)
		arguments_refuse(state, "--diff compares groups of requests: it does not go "
					"with --by request_id");
	if (options->request)
		arguments_refuse(state, "--diff compares groups of requests: it does not go "
					"with --request");
}

/* `--slowest 20' lacks the =, which is easily forgotten. */
static void check_slowest(const struct report_options *options, struct argp_state *state)
{
	uint64_t count;

	for (size_t i = 0; options->is_slowest && i < options->path_count; i++) {
		const char *path = options->paths[i];

		if (arguments_parse_number(path, 1, SIZE_MAX, &count) == 0 &&
		    access(path, F_OK) < 0)
			arguments_refuse(state,
					 "there is no recording %s; for that many requests, "
					 "--slowest=%s",
					 path, path);
	}
}

/* Checks which of these options exclude each other. */
static void check_rows(const struct report_options *options, struct argp_state *state)
{
	bool has_columns = options->has_sort || options->column_count > 0;

	if (options->is_slowest && options->by)
		arguments_refuse(state, "--slowest lists requests: it does not go with --by");
	if (options->step_ns > 0 && !options->is_over_time)
		arguments_refuse(state, "--step needs --over-time");
	if (options->is_over_time && (options->is_slowest || has_columns))
		arguments_refuse(state, "--over-time has columns of its own: it does not go with "
					"--slowest, --sort or --columns");
}

static void check_html(const struct report_options *options, struct argp_state *state)
{
	if (options->compare && !options->html)
		arguments_fail(state, EXIT_CODE_USAGE, 0, "--compare needs --html");
	if (options->html && options->format != FORMAT_TABLE)
		arguments_fail(state, EXIT_CODE_USAGE, 0, "--html and --format exclude each other");
	if (options->html &&
	    (options->is_diff || options->is_over_time || options->is_slowest || options->request))
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "a page holds the whole report: --html does not go with --diff, "
			       "--over-time, --slowest and --request");
	if (options->html && options->by &&
	    (grouping_is_by_field(options->by) || strchr(options->by, ',')))
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "a page groups by one key of the records, not by %s", options->by);
}

static void check_stacks(const struct report_options *options, struct argp_state *state)
{
	bool is_other = options->is_over_time || options->request || options->html || options->by ||
			options->column_count > 0 || options->alerts;

	if (options->is_stacks && is_other)
		arguments_refuse(
			state, "--stacks prints a tree of its own: it goes only with --where, "
			       "--since, --until, --slowest, --sort, --diff, --off-cpu, --top and "
			       "--format");
	if (options->measure == STACKS_OFF_CPU && !options->is_stacks)
		arguments_refuse(state, "--off-cpu needs --stacks");
	if (options->is_bottom_up && options->is_diff)
		arguments_refuse(state, "--stacks --diff compares methods: it does not go with "
					"bottom-up");
}

/* For views that print a table of their own. */
static void check_own_table(const struct report_options *options, bool is_asked, const char *name,
			    struct argp_state *state)
{
	bool is_other = options->is_over_time || options->is_slowest || options->html ||
			options->is_stacks || options->is_diff || options->has_sort ||
			options->column_count > 0 || options->alerts ||
			options->is_syscalls + options->is_io + options->is_stalls > 1;

	if (is_asked && is_other)
		arguments_refuse(state,
				 "%s prints a table of its own: it goes only with --where, "
				 "--since, --until, --by, --request, --top and --format",
				 name);
	if (is_asked && options->by &&
	    (grouping_is_by_field(options->by) || strchr(options->by, ',')))
		arguments_refuse(state, "%s groups by one key of the records, not by %s", name,
				 options->by);
}

static void check_books(const struct report_options *options, struct argp_state *state)
{
	bool is_other = options->request || options->is_stacks || options->is_syscalls ||
			options->is_io || options->is_stalls || options->is_diff || options->html ||
			options->alerts;

	if ((options->has_books || options->has_cost) && is_other)
		arguments_refuse(
			state, "--books and --cost apply to tables of groups: they do not go with "
			       "--request, --stacks, --syscalls, --io, --stalls, --diff, --html "
			       "or --alert");
}

/* Parses the options without an argument. False: another option. */
static bool parse_flag(struct report_options *options, int key)
{
	switch (key) {
	case OPTION_DIFF:
		options->is_diff = true;
		return true;
	case OPTION_SYSCALLS:
		options->is_syscalls = true;
		return true;
	case OPTION_IO:
		options->is_io = true;
		return true;
	case OPTION_STALLS:
		options->is_stalls = true;
		return true;
	case OPTION_OFF_CPU:
		options->measure = STACKS_OFF_CPU;
		return true;
	case OPTION_BOOKS:
		options->has_books = true;
		return true;
	case OPTION_COST:
		options->has_cost = true;
		return true;
	default:
		return false;
	}
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct report_options *options = state->input;

	if (parse_flag(options, key))
		return 0;
	switch (key) {
	case 'r':
		options->request = argument;
		return 0;
	case 'b':
		parse_by(options, argument, state);
		options->is_of_rows = true;
		return 0;
	case 's':
		parse_sort(options, argument, state);
		options->has_sort = true;
		options->is_of_rows = true;
		return 0;
	case OPTION_STACKS:
		parse_stacks(options, argument, state);
		return 0;
	case OPTION_OVER_TIME:
		options->is_over_time = true;
		options->is_of_rows = true;
		return 0;
	case OPTION_STEP:
		if (duration_parse(argument, &options->step_ns) < 0 || options->step_ns == 0)
			arguments_fail(state, EXIT_CODE_USAGE, 0,
				       "--step takes a duration such as 10s, not '%s'", argument);
		return 0;
	case OPTION_SLOWEST:
		parse_slowest(options, argument, state);
		options->is_of_rows = true;
		return 0;
	case 'c':
		parse_columns(options, argument, state);
		options->is_of_rows = true;
		return 0;
	case 'n':
		parse_top(options, argument, state);
		return 0;
	case 'f':
		parse_format(options, argument, state);
		return 0;
	case 'w':
	case 'S':
	case 'U':
		return filter_arguments_parse(key, argument, &options->filter, state);
	case OPTION_ALERT:
		options->is_failed |= alert_arguments_add(&options->alerts, argument) < 0;
		return 0;
	case 'H':
		options->html = argument;
		return 0;
	case 'C':
		options->compare = argument;
		return 0;
	case ARGP_KEY_SUCCESS:
		take_order(options, state);
		check_request(options, state);
		check_rows(options, state);
		check_slowest(options, state);
		check_diff(options, state);
		check_html(options, state);
		check_stacks(options, state);
		check_own_table(options, options->is_syscalls, "--syscalls", state);
		check_own_table(options, options->is_io, "--io", state);
		check_own_table(options, options->is_stalls, "--stalls", state);
		check_books(options, state);
		return 0;
	default:
		return streams_parse_paths(key, state, &options->paths, &options->path_count);
	}
}

/* Adds the field of --sort to the columns, last, unless it is among them. */
static void show_what_is_sorted_by(struct report_options *options)
{
	for (size_t i = 0; i < options->column_count; i++) {
		if (options->columns[i] == options->sort)
			return;
	}
	if (options->column_count < _FIGURE_MAX)
		options->columns[options->column_count++] = options->sort;
}

/* Chooses defaults that depend on other options. */
static void choose_defaults(struct report_options *options)
{
	bool is_of_all = options->format != FORMAT_TABLE;

	if (options->is_slowest && !options->has_sort)
		options->sort = FIGURE_WALL;
	if (options->has_sort && options->column_count > 0)
		show_what_is_sorted_by(options);
	if (options->is_slowest && options->slowest_percent == 0)
		is_of_all = false;
	if (!options->has_top && !is_of_all)
		options->top_count = options->html ? TOP_COUNT_PAGE : TOP_COUNT_TABLE;
}

/* --alert excludes all options of reports. */
static bool suit_alerts(const struct report_options *options)
{
	bool is_of_report = options->is_of_rows || options->has_top || options->is_diff ||
			    options->request || options->html || options->format != FORMAT_TABLE ||
			    options->filter.condition_count > 0;

	if (options->alerts && is_of_report)
		(void)log_error(EINVAL, "--alert prints no report: it goes only with --since "
					"and --until");
	return !options->alerts || !is_of_report;
}

static bool is_of(enum figure figure, const void *context)
{
	enum figure_source source = figure_infos[figure].source;

	switch (*(const enum figure_source *)context) {
	case FIGURE_SOURCE_COST:
		return source == FIGURE_SOURCE_COST || source == FIGURE_SOURCE_OF_COSTS;
	case FIGURE_SOURCE_OF_REQUESTS:
		return figure_is_of_requests(figure);
	default:
		return source == *(const enum figure_source *)context;
	}
}

/* Inserts the names of the figures where --help describes them. NULL: no memory, and argp prints
 * nothing. */
static char *help(int key, const char *text, void *input)
{
	static const enum figure_source sources[] = { FIGURE_SOURCE_COST, FIGURE_SOURCE_OF_REQUESTS,
						      FIGURE_SOURCE_OF_ONE, FIGURE_SOURCE_NAME };
	char names[4][1024], *whole;

	(void)input;
	if (key != OPTION_SORT)
		return (char *)text;
	for (size_t i = 0; i < 4; i++)
		figure_list(is_of, &sources[i], names[i], sizeof(names[i]));
	if (asprintf(&whole, "%s. Figures: %s; of groups also %s; of requests also %s. Names: %s",
		     text, names[0], names[1], names[2], names[3]) < 0)
		return NULL;
	return whole;
}

bool report_arguments_parse(int argc, char **argv, struct report_options *ret_options)
{
	static const struct argp argp = { argp_options, parse_option, "[FILE...]", argp_doc,
					  NULL,		help,	      NULL };

	*ret_options = (struct report_options){ .sort = FIGURE_CPU };
	argp_err_exit_status = EXIT_CODE_USAGE;
	if (arguments_parse(&argp, argc, argv, 0, ret_options) != 0 || ret_options->is_failed ||
	    !suit_alerts(ret_options)) {
		report_arguments_deinit(ret_options);
		return false;
	}
	choose_defaults(ret_options);
	return true;
}

void report_arguments_deinit(struct report_options *options)
{
	alert_set_free(options->alerts);
	filter_deinit(&options->filter);
}
