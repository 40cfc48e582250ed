/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/text.h"
#include "command/alert_arguments.h"
#include "command/arguments.h"
#include "command/command.h"
#include "command/filter_arguments.h"
#include "command/report_alerts.h"
#include "command/streams.h"
#include "record/record_reader.h"
#include "report/diff.h"
#include "report/format.h"
#include "report/format_diff.h"
#include "report/format_story.h"
#include "report/html/page_output.h"
#include "report/story.h"

enum {
	TOP_COUNT_TABLE = 20, /* default of --top in the table; JSON and CSV give all */
	TOP_COUNT_PAGE = 1000, /* in the table that a page has without scripts */
	WIDTH_DEFAULT = 100,
	WIDTH_MIN = 20,
	WIDTH_MAX = 1000,
};

/* Options without a letter. */
enum {
	OPTION_SLOWEST = 256,
	OPTION_OVER_TIME = 257,
	OPTION_STEP = 258,
	OPTION_DIFF = 259,
	OPTION_ALERT = 260,
};

enum output_format {
	FORMAT_TABLE = 0,
	FORMAT_JSON = 1,
	FORMAT_CSV = 2,
	FORMAT_NDJSON = 3,
	_FORMAT_MAX
};

static const char *const format_names[_FORMAT_MAX] = { "table", "json", "csv", "ndjson" };

struct report_options {
	const char *by; /* NULL: the default (totals.h) */
	const char *request; /* the one that is told of; NULL: all are summed up */
	bool is_of_rows; /* some option is of what sums up */
	enum row_field sort;
	enum row_field columns[_ROW_FIELD_MAX];
	size_t column_count; /* 0: what fits */
	bool has_sort;
	bool is_diff;
	bool is_over_time;
	uint64_t step_ns; /* of it; 0: each window */
	bool is_slowest;
	double slowest_percent; /* 0: so many, which is top_count */
	bool has_top;
	size_t top_count;
	enum output_format format;
	struct filter filter;
	const char *html; /* the page to write; NULL: none */
	char *compare; /* the recording that it compares with; NULL: none */
	struct alert_set *alerts; /* owned; NULL: a report is wanted */
	bool is_failed; /* an option was refused, and said why */
	char **paths; /* borrowed from argv */
	size_t path_count;
};

static const struct argp_option argp_options[] = {
	{ "by", 'b', "KEY,...", 0,
	  "Group attributed time by a key of the records (default endpoint where there is one, then "
	  "request_id, or the first key where that is none), or all time by what ran: pid, tid, "
	  "comm, thread_name, host_name, or by what it was: attribution. By several: a row for each "
	  "combination",
	  0 },
	{ "sort", 's', "FIELD", 0,
	  "Sort by key, of several by key_2 to key_4, by thread_name or comm (ascending), or descending by requests, cpu (default), "
	  "user, kernel, run_queue, blocked, uninterruptible, share, slices, switches, ambiguous, "
	  "migrations, stolen, syscalls, cpu_percent, machine_percent or split_error; groups also "
	  "by rate, syscalls_mean, cpu_mean, cpu_p50, cpu_p90, cpu_p99, cpu_max, wall_mean, "
	  "wall_p50, wall_p90, wall_p99 or wall_max; requests also by wall or began, or by endpoint",
	  0 },
	{ "request", 'r', "ID", 0,
	  "The story of the request with this request_id, as a table or json: what each thread did "
	  "for it and when, and what else ran meanwhile; to the microsecond where `record --timeline' "
	  "wrote slices, else by window",
	  0 },
	{ "columns", 'c', "FIELD,...", 0,
	  "Columns of the table, of the fields above (default: in a terminal what fits, elsewhere all)",
	  0 },
	{ "top", 'n', "N", 0, "Show the first N groups (default 20 in a table, else 0 = all)", 0 },
	{ "format", 'f', "FORMAT", 0,
	  "table (default), json, csv, or ndjson, a line of JSON for each row", 0 },
	{ "where", 'w', "KEY=VALUE", 0,
	  "Only of what has this value, or, with KEY~PATTERN, one with * ? [...] (repeatable: of all). "
	  "KEY is one of the records, or pid, tid, comm, thread_name, host_name",
	  0 },
	{ "since", 'S', "TIME", 0,
	  "Only windows that end after it: 2026-11-22T10:15:00Z, or a duration from the first record "
	  "on, such as 30s",
	  0 },
	{ "slowest", OPTION_SLOWEST, "N|P%", OPTION_ARG_OPTIONAL,
	  "The N requests (default 20) that took longest, and when each began; with P%, such as 99%, "
	  "those above that percentile of their endpoint's. With --sort cpu those that used most",
	  0 },
	{ "diff", OPTION_DIFF, NULL, 0,
	  "What changed from the first of two recordings to the second: of each endpoint's requests mean "
	  "and 99th percentile of CPU and wall time, and whether that may be chance",
	  0 },
	{ "over-time", OPTION_OVER_TIME, NULL, 0,
	  "What was used in each window (in a table in at most 60 steps), in all and by endpoint, or "
	  "--by something else",
	  0 },
	{ "step", OPTION_STEP, "TIME", 0, "With --over-time: in steps of so long, such as 10s", 0 },
	{ "until", 'U', "TIME", 0, "Only windows that end by then", 0 },
	{ "html", 'H', "PAGE", 0,
	  "Write all this as one page for a browser instead, with what is needed to ask for any span "
	  "of time and any group in it (-: standard output)",
	  0 },
	{ "compare", 'C', "FILE", 0, "With --html: beside this recording, for each group", 0 },
	{ "alert", OPTION_ALERT, "EXPRESSION", 0,
	  "No report: a line when this, as record takes it, would have fired, and when it was over "
	  "(repeatable)",
	  0 },
	{ 0 },
};

static const char argp_doc[] =
	"Say which request burned the CPU, from recordings made by `correlator record'. "
	"FILE - is standard input, read to its end: there the first Ctrl-C is for who writes it. Several "
	"files are added up.\v"
	"Without FILE, " COMMAND_RECORDING ", which record writes by default.\n"
	"\n"
	"Of a group's requests: how many, and the mean, percentiles and maximum of the CPU that each "
	"used in all, and of its wall time, from its first activity to its last. A percentile is off by "
	"less than 1 %.\n"
	"\n"
	"Times of one group: cpu = user + kernel. run queue is time ready to run without a CPU, "
	"blocked is time asleep. share is of the CPU of all observed processes. Time under no "
	"context is the row `unattributed'; \"-\" is not measured, never zero.\n"
	"\n"
	"By pid, tid, comm or thread_name a row holds all time, attributed or not. % CPU is of one "
	"CPU, % machine of all its CPUs, from the start of the first window to the end of the last "
	"one: of a recording, or of several that followed each other.\n"
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
	"  correlator report --diff monday.rec tuesday.rec\n"
	"  correlator report --by pid app.rec\n"
	"  correlator report --by endpoint,host_name monday.rec tuesday.rec\n"
	"  correlator report --format csv --by tid monday.rec tuesday.rec > threads.csv\n"
	"  correlator report --html app.html app.rec\n"
	"  correlator report --html change.html --compare tuesday.rec monday.rec\n"
	"  correlator report --alert 'p99(cpu) > 50ms for 30s by endpoint' app.rec || page-somebody\n"
	"  correlator record -p 4242 -d 10 -o - | correlator report -\n"
	"\n"
	"Exit status: 0 ok, 1 a file cannot be read, or is damaged (the rest of it is reported all the "
	"same; a last record that is cut off is no damage), 2 usage, 5 an alert of --alert fired.";

static void parse_by(struct report_options *options, const char *keys, struct argp_state *state)
{
	if (!grouping_is_by(keys))
		argp_failure(state, EXIT_CODE_USAGE, 0,
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
	argp_failure(state, EXIT_CODE_USAGE, 0,
		     "unknown format '%s': one of table, json, csv, ndjson", name);
}

static void parse_sort(struct report_options *options, const char *name, struct argp_state *state)
{
	char names[1024];
	struct text_writer writer;

	if (rows_find_field(name, &options->sort) == 0)
		return;
	text_writer_init(&writer, names, sizeof(names));
	for (int field = 0; field < _ROW_FIELD_MAX; field++) {
		const char *valid = rows_field_name((enum row_field)field);

		text_writer_put(&writer, ", ", field > 0 ? 2 : 0);
		text_writer_put(&writer, valid, strlen(valid));
	}
	argp_failure(state, EXIT_CODE_USAGE, 0, "unknown field '%s' to sort by: one of %s", name,
		     names);
}

static void parse_columns(struct report_options *options, char *names, struct argp_state *state)
{
	const char *name;
	char *rest = NULL;
	enum row_field field;

	options->column_count = 0;
	for (name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		if (rows_find_field(name, &field) < 0)
			argp_failure(
				state, EXIT_CODE_USAGE, 0,
				"unknown column '%s': the fields that --sort takes are columns",
				name);
		else if (options->column_count < _ROW_FIELD_MAX)
			options->columns[options->column_count++] = field;
	}
	if (options->column_count == 0)
		argp_failure(state, EXIT_CODE_USAGE, 0, "--columns takes the names of columns");
}

static void parse_top(struct report_options *options, const char *text, struct argp_state *state)
{
	uint64_t count;

	if (arguments_parse_number(text, 0, SIZE_MAX, &count) < 0)
		argp_failure(state, EXIT_CODE_USAGE, 0, "--top takes a number, not '%s'", text);
	options->top_count = (size_t)count;
	options->has_top = true;
}

static void parse_slowest(struct report_options *options, const char *text,
			  struct argp_state *state)
{
	double percent = 0;
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
		argp_failure(state, EXIT_CODE_USAGE, 0,
			     "--slowest takes a number of requests, or a percentile such as 99%%, "
			     "not '%s'",
			     text);
	options->slowest_percent = percent;
}

static void check_request(const struct report_options *options, struct argp_state *state)
{
	if (!options->request)
		return;
	if (options->is_of_rows)
		argp_failure(state, EXIT_CODE_USAGE, 0,
			     "--request tells of one request: --by, --sort and --columns are of "
			     "rows that sum up");
	if (options->format != FORMAT_TABLE && options->format != FORMAT_JSON)
		argp_failure(state, EXIT_CODE_USAGE, 0,
			     "--request prints a table or json; `correlator export' writes records "
			     "as csv and ndjson");
}

static void check_diff(const struct report_options *options, struct argp_state *state)
{
	if (!options->is_diff)
		return;
	if (options->path_count != 2)
		argp_error(state, "--diff takes two recordings: before and after");
	if (options->is_over_time || options->is_slowest || options->has_sort ||
	    options->column_count > 0)
		argp_error(state, "--diff has columns of its own: not with --over-time, --slowest, "
				  "--sort or --columns");
	if (options->format != FORMAT_TABLE && options->format != FORMAT_JSON)
		argp_error(state, "--diff is a table or json");
	if (options->by && strcmp(options->by, "request_id") == 0)
		argp_error(state, "--diff compares groups of requests: not --by request_id");
	if (options->request)
		argp_error(state, "--diff compares groups of requests: not with --request");
}

/* Whether they go together. */
static void check_rows(const struct report_options *options, struct argp_state *state)
{
	bool has_columns = options->has_sort || options->column_count > 0;

	if (options->is_slowest && options->by)
		argp_error(state, "--slowest is of requests: not with --by");
	if (options->step_ns > 0 && !options->is_over_time)
		argp_error(state, "--step is of --over-time");
	if (options->is_over_time && (options->is_slowest || has_columns))
		argp_error(state, "--over-time is by time and has columns of its own: not with "
				  "--slowest, --sort or --columns");
}

static void check_html(const struct report_options *options, struct argp_state *state)
{
	if (options->compare && !options->html)
		argp_failure(state, EXIT_CODE_USAGE, 0,
			     "--compare is of a page: it goes with --html");
	if (options->html && options->format != FORMAT_TABLE)
		argp_failure(state, EXIT_CODE_USAGE, 0,
			     "--html and --format are two ways: choose one");
	if (options->html &&
	    (options->is_diff || options->is_over_time || options->is_slowest || options->request))
		argp_failure(state, EXIT_CODE_USAGE, 0,
			     "a page has all of it: --html goes without --diff, --over-time, "
			     "--slowest and --request");
	if (options->html && options->by &&
	    (grouping_is_by_field(options->by) || strchr(options->by, ',')))
		argp_failure(state, EXIT_CODE_USAGE, 0,
			     "a page groups by one key of the records, not by %s", options->by);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct report_options *options = state->input;

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
	case OPTION_DIFF:
		options->is_diff = true;
		return 0;
	case OPTION_OVER_TIME:
		options->is_over_time = true;
		options->is_of_rows = true;
		return 0;
	case OPTION_STEP:
		if (duration_parse(argument, &options->step_ns) < 0 || options->step_ns == 0)
			argp_failure(state, EXIT_CODE_USAGE, 0,
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
		filter_arguments_add(&options->filter, argument, state);
		return 0;
	case 'S':
		filter_arguments_time("since", argument, &options->filter.since, state);
		return 0;
	case 'U':
		filter_arguments_time("until", argument, &options->filter.until, state);
		return 0;
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
		check_request(options, state);
		check_rows(options, state);
		check_diff(options, state);
		check_html(options, state);
		return 0;
	default:
		return streams_parse_paths(key, state, &options->paths, &options->path_count);
	}
}

static int reject_record(const struct record_reader *reader, int error)
{
	if (error == -E2BIG)
		return log_error(error,
				 "%s: more than %d distinct values: group by something coarser "
				 "with --by, take longer steps with --step, or less of it with "
				 "--where, --since and --until",
				 record_reader_name(reader), GROUPS_MAX);
	return log_error_errno(error, "cannot add up %s", record_reader_name(reader));
}

/* Of requests that will not be shown it is enough to have the sums. */
static int fold(const struct report_options *options, struct totals *totals)
{
	int r = 0;

	for (size_t i = 0; i < totals->grouping_count && options->top_count > 0 && r == 0; i++)
		r = rows_fold(totals, &totals->groupings[i], options->sort, options->top_count);
	return r;
}

/* What the records are for; story NULL: only the totals are wanted. */
struct reading {
	const struct report_options *options;
	struct totals *totals;
	struct story *story;
};

static int add_record(void *context, struct record_reader *reader, const struct record_view *record)
{
	const struct reading *reading = context;
	int r = reading->story ? story_add(reading->story, record)
			       : totals_add(reading->totals, record);

	if (r == -EBADMSG)
		record_reader_drop(reader, "damaged: a balance record without its times");
	else if (r == 0 && !reading->story)
		r = fold(reading->options, reading->totals);
	return r < 0 && r != -EBADMSG ? reject_record(reader, r) : 0;
}

/* Those of the files from one on, and before another one. */
static int read_files(const struct report_options *options, struct totals *totals,
		      struct story *story, struct format_file *files, size_t begin, size_t end)
{
	struct reading reading = { options, totals, story };
	int r;

	for (size_t i = begin; i < end; i++) {
		r = streams_read(options->paths[i], false, add_record, &reading, &files[i]);
		if (r < 0)
			return r;
	}
	r = totals_finish(totals);
	if (r < 0)
		return log_error_errno(r, "cannot report");
	return totals->recording.record_count > 0 ? 0 : log_error(ENODATA, "no records to report");
}

/* Grouping by what no record carries would put everything into one row: more likely a slip. */
static int check_key(const struct totals *totals, const char *by)
{
	const struct recording *recording = &totals->recording;
	char names[1024] = "none";
	struct text_writer writer;

	if (totals->all.record_count == 0 || grouping_is_by_field(by) ||
	    recording_has_key(recording, by))
		return 0;
	if (recording->key_count > 0)
		text_writer_init(&writer, names, sizeof(names));
	for (size_t i = 0; i < recording->key_count; i++) {
		text_writer_put(&writer, ", ", i > 0 ? 2 : 0);
		text_writer_put(&writer, recording->keys[i], strlen(recording->keys[i]));
	}
	return log_error(ENOENT, "no record has the key %s; keys that occur: %s (choose with --by)",
			 by, names);
}

static int check_keys(const struct totals *totals)
{
	const struct grouping *grouping = &totals->groupings[0];
	int r = 0;

	for (size_t i = 0; i < grouping->key_count && r == 0; i++)
		r = check_key(totals, grouping->keys[i]);
	return r;
}

/* Columns: of $COLUMNS, else of the terminal, else 100, where *ret_is_endless: it is none. */
static size_t screen_width(bool *ret_is_endless)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long width = columns ? strtol(columns, NULL, 10) : 0;

	*ret_is_endless = false;
	if (width >= WIDTH_MIN && width <= WIDTH_MAX)
		return (size_t)width;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= WIDTH_MIN)
		return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
	*ret_is_endless = true;
	return WIDTH_DEFAULT;
}

/* On a terminal, unless $NO_COLOR is set to something (https://no-color.org). */
static bool screen_takes_bold(void)
{
	const char *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && (!no_color || no_color[0] == '\0');
}

typedef int (*format_fn)(const struct totals *totals, const struct format_options *options,
			 FILE *out);

static struct format_options choose_format(const struct report_options *options,
					   const struct format_file *files)
{
	struct format_options format_options = {
		.sort = options->sort,
		.top_count = options->top_count,
		.columns = options->column_count > 0 ? options->columns : NULL,
		.column_count = options->column_count,
		.is_slowest = options->is_slowest,
		.has_step = options->step_ns > 0,
		.is_bold = screen_takes_bold(),
		.files = files,
		.file_count = options->path_count,
	};

	format_options.width = screen_width(&format_options.is_endless);
	return format_options;
}

/* story NULL: of all requests. */
static int print_report(const struct report_options *options, const struct totals *totals,
			const struct story *story, const struct format_file *files)
{
	/* As a whole, and over time. */
	static const format_fn formats[2][_FORMAT_MAX] = {
		{ [FORMAT_TABLE] = format_table,
		  [FORMAT_JSON] = format_json,
		  [FORMAT_CSV] = format_csv,
		  [FORMAT_NDJSON] = format_ndjson },
		{ [FORMAT_TABLE] = format_series_table,
		  [FORMAT_JSON] = format_series_json,
		  [FORMAT_CSV] = format_series_csv,
		  [FORMAT_NDJSON] = format_series_ndjson },
	};
	struct format_options format_options = choose_format(options, files);

	if (story && options->format == FORMAT_JSON)
		return format_story_json(story, &format_options, stdout);
	if (story)
		return format_story(story, &format_options, stdout);
	return formats[options->is_over_time][options->format](totals, &format_options, stdout);
}

static bool is_damaged(const struct format_file *files, size_t file_count)
{
	for (size_t i = 0; i < file_count; i++)
		if (files[i].damaged_places)
			return true;
	return false;
}

/* Of an id that is not there: which may be meant. Logged, -ENOENT. */
static int refuse_story(const struct story *story)
{
	const struct recording *recording = &story->totals->recording;
	char hints[STORY_HINTS_MAX * RECORDING_TEXT_BYTES] = "";
	struct text_writer writer;

	if (story->costs.record_count > 0 || story->verdict != FILTER_UNKNOWN)
		return log_error(ENOENT, "the request %s is none of those that --where wants",
				 story->request_id);
	if (!recording_has_key(recording, "request_id"))
		return log_error(ENOENT,
				 "no record has a request_id: record with `--key request_id'");
	text_writer_init(&writer, hints, sizeof(hints));
	for (size_t i = 0; i < STORY_HINTS_MAX && story->hints[i].likeness > 0; i++) {
		const char *id = story->hints[i].request_id;

		text_writer_put(&writer, i > 0 ? ", " : "; like it: ", i > 0 ? 2 : 11);
		text_writer_put(&writer, id, strlen(id));
	}
	return log_error(ENOENT,
			 "no request %s in the recording%s (all are in `correlator report --by "
			 "request_id --top 0')",
			 story->request_id, hints);
}

static int finish_story(struct story *story)
{
	int r = story_finish(story);

	if (r < 0)
		return log_error_errno(r, "cannot report");
	return story_is_there(story) ? 0 : refuse_story(story);
}

/* What the report is of. */
static int init_totals(const struct report_options *options, struct totals *totals)
{
	static const char *const of_slowest[] = { "request_id", "endpoint" };
	static const char *const of_story[] = { "endpoint" };
	/* JSON and CSV hold one table: no memory for a second. */
	bool is_one = options->by || options->format != FORMAT_TABLE || options->is_over_time;
	size_t key_count = is_one ? 1 : 2;
	int r;

	if (options->request)
		return totals_init(totals, of_story, 1);
	if (options->is_over_time) {
		r = totals_init(totals, options->by ? &options->by : NULL, key_count);
		if (r == 0)
			grouping_split_over_time(&totals->groupings[0], options->step_ns);
		return r;
	}
	if (!options->is_slowest)
		return totals_init(totals, options->by ? &options->by : NULL, key_count);
	r = totals_init(totals, of_slowest, options->slowest_percent > 0 ? 2 : 1);
	if (r == 0)
		totals->groupings[0].above_percent = options->slowest_percent;
	return r;
}

/* What has not been asked for, as it suits the rest. */
static void choose_defaults(struct report_options *options)
{
	bool is_of_all = options->format != FORMAT_TABLE;

	if (options->is_slowest && !options->has_sort)
		options->sort = ROW_FIELD_WALL;
	if (options->is_slowest && options->slowest_percent == 0)
		is_of_all = false;
	if (!options->has_top && !is_of_all)
		options->top_count = options->html ? TOP_COUNT_PAGE : TOP_COUNT_TABLE;
}

/* One recording of a page, or several that are added up. */
struct side {
	struct totals totals;
	struct page_data data;
	struct format_file *files;
};

static void side_deinit(struct side *side)
{
	page_data_deinit(&side->data);
	totals_deinit(&side->totals);
	free(side->files);
}

static int read_page_side(const struct report_options *options, struct side *side)
{
	int r;

	side->files = calloc(options->path_count, sizeof(*side->files));
	r = side->files ? totals_init(&side->totals, options->by ? &options->by : NULL, 1)
			: -ENOMEM;
	if (r == 0)
		r = filter_copy(&options->filter, &side->totals.filter);
	if (r == 0)
		r = page_data_init(&side->data, &side->totals, NULL);
	if (r < 0)
		return log_error_errno(r, "cannot report");
	r = read_files(options, &side->totals, NULL, side->files, 0, options->path_count);
	if (r == 0 && options->by)
		r = check_keys(&side->totals);
	if (r < 0)
		return r;
	r = page_data_finish(&side->data);
	return r < 0 ? log_error_errno(r, "cannot report") : 0;
}

static struct page_recording recording_of(const struct report_options *options,
					  const struct side *side)
{
	return (struct page_recording){ .totals = &side->totals,
					.data = &side->data,
					.options = { .sort = options->sort,
						     .top_count = options->top_count,
						     .files = side->files,
						     .file_count = options->path_count } };
}

static int write_page(const struct report_options *options)
{
	struct report_options other = *options;
	_cleanup_(side_deinit) struct side first = { 0 }, second = { 0 };
	struct page_recording recordings[PAGE_RECORDINGS_MAX];
	bool has_second = options->compare;
	int r = page_output_check(options->html);

	other.paths = &other.compare;
	other.path_count = 1;
	if (r == 0)
		r = read_page_side(options, &first);
	if (r == 0 && has_second)
		r = read_page_side(&other, &second);
	if (r < 0)
		return r;
	recordings[0] = recording_of(options, &first);
	recordings[1] = recording_of(&other, &second);
	r = page_output_write(options->html, recordings, has_second ? 2 : 1);
	if (r == 0)
		r = streams_finish_output("the page");
	if (r == 0 && (is_damaged(first.files, options->path_count) ||
		       (has_second && is_damaged(second.files, 1))))
		r = -EBADMSG;
	return r;
}

static int report(struct report_options *options)
{
	_cleanup_free_ struct format_file *files =
		calloc(options->path_count, sizeof(struct format_file));
	_cleanup_(totals_deinit) struct totals totals = { 0 };
	_cleanup_(story_deinit) struct story story = { 0 };
	struct story *wanted = options->request ? &story : NULL;
	int r;

	if (!files)
		return log_error_errno(ENOMEM, "cannot report");
	r = init_totals(options, &totals);
	if (r < 0)
		return log_error_errno(r, "cannot report");
	totals.filter = options->filter;
	options->filter = (struct filter){ 0 };
	if (wanted)
		story_init(&story, &totals, options->request);
	r = read_files(options, &totals, wanted, files, 0, options->path_count);
	if (r == 0 && wanted)
		r = finish_story(&story);
	if (r == 0 && (options->by || options->is_slowest))
		r = check_keys(&totals);
	if (r < 0)
		return r;
	r = print_report(options, &totals, wanted, files);
	if (r < 0)
		return log_error_errno(r, "cannot report");
	r = streams_finish_output("the report");
	/* What can be read is reported, and that it is not all is no success. */
	return r == 0 && is_damaged(files, options->path_count) ? -EBADMSG : r;
}

static int print_diff(const struct report_options *options, const struct totals *before,
		      const struct totals *after, const struct format_file *files)
{
	struct format_options format_options = choose_format(options, files);
	struct diff diff;
	int r = diff_init(&diff, before, after);

	if (r == 0 && options->format == FORMAT_JSON)
		r = format_diff_json(&diff, &format_options, stdout);
	else if (r == 0)
		r = format_diff_table(&diff, &format_options, stdout);
	diff_deinit(&diff);
	return r < 0 ? log_error_errno(r, "cannot report") : r;
}

/* One recording's, by these keys (NULL: its own). */
static int read_side(const struct report_options *options, size_t index, const char *by,
		     struct totals *totals, struct format_file *files)
{
	int r = totals_init(totals, by ? &by : NULL, 1);

	if (r == 0)
		r = filter_copy(&options->filter, &totals->filter);
	if (r < 0)
		return log_error_errno(r, "cannot report");
	r = read_files(options, totals, NULL, files, index, index + 1);
	return r == 0 && by ? check_keys(totals) : r;
}

static int report_diff(const struct report_options *options)
{
	_cleanup_(totals_deinit) struct totals before = { 0 };
	_cleanup_(totals_deinit) struct totals after = { 0 };
	struct format_file files[2] = { 0 };
	int r = read_side(options, 0, options->by, &before, files);

	if (r == 0)
		r = read_side(options, 1, before.groupings[0].by, &after, files);
	if (r == 0)
		r = print_diff(options, &before, &after, files);
	if (r == 0)
		r = streams_finish_output("the report");
	return r == 0 && is_damaged(files, 2) ? -EBADMSG : r;
}

/* Instead of a report, of which there is nothing to choose then. */
static int find_alerts(struct report_options *options)
{
	int code = EXIT_CODE_USAGE;

	if (options->is_failed)
		; /* It was said. */
	else if (options->is_of_rows || options->has_top || options->is_diff || options->request ||
		 options->html || options->format != FORMAT_TABLE ||
		 options->filter.condition_count > 0)
		(void)log_error(EINVAL, "--alert prints no report: beside it are only --since and "
					"--until");
	else
		code = report_alerts(options->alerts, &options->filter, options->paths,
				     options->path_count);
	alert_set_free(options->alerts);
	filter_deinit(&options->filter);
	return code;
}

int command_report(int argc, char **argv)
{
	static const struct argp argp = { argp_options, parse_option, "[FILE...]", argp_doc,
					  NULL,		NULL,	      NULL };
	struct report_options options = { .sort = ROW_FIELD_CPU };
	locale_t utf8, previous = (locale_t)0;
	int r;

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_CODE_USAGE;
	if (options.alerts || options.is_failed)
		return find_alerts(&options);
	choose_defaults(&options);
	/* Records are UTF-8 whatever the locale: so is the report, and the widths of its
	 * characters. */
	utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (utf8 != (locale_t)0)
		previous = uselocale(utf8);
	if (options.html)
		r = write_page(&options);
	else
		r = options.is_diff ? report_diff(&options) : report(&options);
	filter_deinit(&options.filter);
	if (utf8 != (locale_t)0) {
		(void)uselocale(previous);
		freelocale(utf8);
	}
	return r < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}
