/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/display.h"
#include "base/log.h"
#include "base/text.h"
#include "command/arguments.h"
#include "command/command.h"
#include "command/stdout_screen.h"
#include "command/streams.h"
#include "reader/top/top.h"

enum {
	RECORDER_WORDS = 3, /* correlator record -o- */
	RECORDER_WORDS_MAX = 256,
	NAME_BYTES = 128,
	STACKS_BYTES = 64, /* --stacks=HZ */
	WIDTH_MIN = 40,
	OPTION_ALL_RUBY = 0x100,
	OPTION_BATCH,
	OPTION_SPAN,
	OPTION_SPEED,
	OPTION_STACKS,
};

#define DEFAULT_INTERVAL "250ms"
#define FIRST_WINDOW	 "100ms"

struct arguments {
	char *recorder[RECORDER_WORDS_MAX + 4]; /* its arguments */
	size_t word_count;
	bool has_target, has_interval;
	char name[NAME_BYTES]; /* of the target */
	char stacks[STACKS_BYTES];
	struct top_options options;
	struct navigation start;
	bool has_speed;
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "Observe this process and its children (repeatable)", 1 },
	{ "all-ruby", OPTION_ALL_RUBY, NULL, 0,
	  "Observe every Ruby process of the machine that publishes contexts", 1 },
	{ "key", 'k', "KEY[=NAME]", 0,
	  "Record this key, as `correlator record' does (repeatable; default request_id and "
	  "endpoint)",
	  1 },
	{ "interval", 'i', "TIME", 0, "Length of a window (default " DEFAULT_INTERVAL ")", 1 },
	{ "stacks", OPTION_STACKS, "HZ", OPTION_ARG_OPTIONAL,
	  "Also sample stacks, as `correlator record' does: c shows the code of a row, with "
	  "--stacks=off-cpu also where it waited",
	  1 },
	{ "by", 'b', "KEY", 0,
	  "Group by this key at the start (default endpoint if it is recorded, else the first "
	  "key), or by pid, tid, comm, thread_name, host_name",
	  2 },
	{ "sort", 's', "FIELD", 0,
	  "Sort groups by this column of `correlator report' at the start (default cpu)", 2 },
	{ "where", 'w', "FILTER", 0,
	  "Filter at the start: KEY=VALUE, KEY~PATTERN, or a pattern of names", 2 },
	{ "span", OPTION_SPAN, "SPAN", 0,
	  "Span of the figures: window (the last one), 10s (default) or all", 2 },
	{ "speed", OPTION_SPEED, "N", 0,
	  "Replay FILE N times as fast as it was recorded (default 1), or max (default with "
	  "--batch)",
	  3 },
	{ "batch", OPTION_BATCH, NULL, 0,
	  "Print frames of text, one per second: the default if standard output is no terminal",
	  3 },
	{ "frames", 'n', "N", 0, "Exit after N frames (with --batch)", 3 },
	{ 0 },
};

static const char documentation[] =
	"Show what burns the CPU right now: endpoints, requests in flight, threads, the books. Starts a "
	"recorder, or replays FILE, a recording; - is standard input, read as it comes."
	"\vKeys: 1 to 4 or Tab choose groups, requests in flight, threads or the books; Enter opens "
	"a row, c its code (with --stacks), Esc goes back; < and > sort by another column, r reverses; g groups by the next key; / "
	"filters; Space freezes, [ and ] step through the windows; w changes the span; ? shows help, q quits.\n"
	"\n"
	"Keeps the last ten minutes, or what fits in 64 MiB. Times are those of the span; for requests "
	"in flight, since they were first seen.\n"
	"\n"
	"Examples:\n"
	"  correlator top 4242\n"
	"  correlator top --all-ruby --where 'GET /orders'\n"
	"  correlator top -p 4242 --stacks\n"
	"  correlator top --speed 10 puma.rec\n"
	"  correlator top --batch --span window puma.rec\n"
	"  correlator top -p 4242 -n 1\n"
	"  ssh web1 correlator record -p 4242 -i 250ms -o - | correlator top -\n"
	"\n"
	"-p and --all-ruby need what `correlator record' needs; FILE and - no privilege. Exit status: 0 "
	"ok, 1 failure, or the file is damaged, 2 usage, 3 kernel or privilege lacks something, 4 no "
	"such target.";

/* Appends a word to the recorder's command. */
static void add_word(struct arguments *arguments, const char *word, struct argp_state *state)
{
	if (arguments->word_count == RECORDER_WORDS_MAX)
		arguments_fail(state, EXIT_CODE_USAGE, 0, "too many arguments");
	arguments->recorder[arguments->word_count++] = (char *)word;
}

static void add_option(struct arguments *arguments, const char *option, const char *value,
		       struct argp_state *state)
{
	add_word(arguments, option, state);
	add_word(arguments, value, state);
}

static void add_pid(struct arguments *arguments, const char *text, struct argp_state *state)
{
	size_t used = strlen(arguments->name);
	pid_t pid;

	if (arguments_parse_pid(text, &pid) < 0)
		exit(EXIT_CODE_USAGE);
	(void)snprintf(arguments->name + used, NAME_BYTES - used, "%s%d", used ? ", " : "pid ",
		       (int)pid);
	arguments->has_target = true;
	add_option(arguments, "-p", text, state);
}

static void parse_span(struct arguments *arguments, const char *name, struct argp_state *state)
{
	static const char *const names[_SPAN_MAX] = { "window", "10s", "all" };

	for (int span = 0; span < _SPAN_MAX; span++) {
		if (strcmp(name, names[span]) == 0) {
			arguments->start.span = (enum span)span;
			return;
		}
	}
	arguments_fail(state, EXIT_CODE_USAGE, 0, "unknown span '%s': one of window, 10s, all",
		       name);
}

static void parse_speed(struct arguments *arguments, const char *text, struct argp_state *state)
{
	char *end;
	double speed = strtod(text, &end);

	arguments->has_speed = true;
	arguments->options.speed = 0;
	if (strcmp(text, "max") == 0)
		return;
	if (end == text || *end != '\0' || !(speed >= 0.001 && speed <= 1000000))
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "--speed takes a number such as 10 or 0.5, or max, not '%s'", text);
	arguments->options.speed = speed;
}

static void parse_stacks(struct arguments *arguments, const char *hz, struct argp_state *state)
{
	int length = snprintf(arguments->stacks, STACKS_BYTES, "--stacks%s%s", hz ? "=" : "",
			      hz ? hz : "");

	if (length >= STACKS_BYTES)
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "--stacks takes what record's does, not '%s'", hz);
	add_word(arguments, arguments->stacks, state);
}

static void parse_frames(struct arguments *arguments, const char *text, struct argp_state *state)
{
	if (arguments_parse_number(text, 1, UINT64_MAX, &arguments->options.frame_count) < 0)
		arguments_fail(state, EXIT_CODE_USAGE, 0, "--frames takes a number, not '%s'",
			       text);
}

static void parse_sort(struct arguments *arguments, const char *name, struct argp_state *state)
{
	if (figure_find(name, &arguments->start.orders[LIST_GROUPS].field) < 0)
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "unknown field '%s' to sort by: see correlator report --help", name);
}

static void copy_text(char *to, size_t size_bytes, const char *name, const char *text,
		      struct argp_state *state)
{
	if (strlen(text) >= size_bytes)
		arguments_fail(state, EXIT_CODE_USAGE, 0, "--%s is longer than %zu bytes", name,
			       size_bytes - 1);
	(void)snprintf(to, size_bytes, "%s", text);
}

/* Whether an argument is a number and no file has that name. */
static bool is_pid(const char *text)
{
	return text[strspn(text, "0123456789")] == '\0' && access(text, F_OK) < 0;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct navigation *start = &arguments->start;

	switch (key) {
	case 'p':
		add_pid(arguments, text, state);
		return 0;
	case OPTION_ALL_RUBY:
		arguments->has_target = true;
		(void)snprintf(arguments->name, NAME_BYTES, "every Ruby");
		add_word(arguments, "--all-ruby", state);
		return 0;
	case 'k':
		add_option(arguments, "-k", text, state);
		return 0;
	case 'i':
		arguments->has_interval = true;
		add_option(arguments, "-i", text, state);
		return 0;
	case OPTION_STACKS:
		parse_stacks(arguments, text, state);
		return 0;
	case 'b':
		copy_text(start->by, sizeof(start->by), "by", text, state);
		return 0;
	case 's':
		parse_sort(arguments, text, state);
		return 0;
	case 'w':
		copy_text(start->filter, sizeof(start->filter), "where", text, state);
		return 0;
	case OPTION_SPAN:
		parse_span(arguments, text, state);
		return 0;
	case OPTION_SPEED:
		parse_speed(arguments, text, state);
		return 0;
	case OPTION_BATCH:
		arguments->options.is_batch = true;
		return 0;
	case 'n':
		parse_frames(arguments, text, state);
		return 0;
	case ARGP_KEY_ARG:
		if (is_pid(text)) {
			add_pid(arguments, text, state);
			return 0;
		}
		if (arguments->options.path)
			arguments_fail(state, EXIT_CODE_USAGE, 0, "one FILE at a time");
		arguments->options.path = text;
		return 0;
	case ARGP_KEY_END:
		if (!arguments->options.path && !arguments->has_target)
			arguments_fail(state, EXIT_CODE_USAGE, 0,
				       "nothing to show: give a PID, --all-ruby or a FILE; see "
				       "correlator top --help");
		if (arguments->options.path && arguments->word_count > RECORDER_WORDS)
			arguments_fail(state, EXIT_CODE_USAGE, 0,
				       "FILE is shown as it was recorded: it does not go with -p, "
				       "--all-ruby, -k, -i and --stacks");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void complete_recorder(struct arguments *arguments)
{
	char **word = &arguments->recorder[arguments->word_count];

	if (!arguments->has_interval)
		*word++ = "-i" DEFAULT_INTERVAL;
	*word++ = "--first-window=" FIRST_WINDOW;
	/* Its messages would mix with the frames; only warnings may. */
	if (arguments->options.is_batch)
		*word++ = "-q";
	*word = NULL;
	arguments->options.recorder = arguments->recorder;
}

static void describe_file(struct arguments *arguments)
{
	const char *path = arguments->options.path;

	if (strcmp(path, "-") == 0)
		path = "standard input";
	(void)display_escape(path, strlen(path), arguments->name, NAME_BYTES);
}

static void complete(struct arguments *arguments)
{
	struct top_options *top = &arguments->options;
	size_t columns = stdout_screen_columns_wanted(WIDTH_MIN);

	top->is_batch |= !isatty(STDOUT_FILENO) || top->frame_count > 0;
	if (!arguments->has_speed)
		top->speed = top->is_batch ? 0 : 1;
	top->width = columns > 0 ? columns : TOP_BATCH_WIDTH;
	top->has_colour = stdout_screen_may_be_coloured();
	top->name = arguments->name;
	top->start = &arguments->start;
	if (top->path)
		describe_file(arguments);
	complete_recorder(arguments);
}

int command_top(int argc, char **argv)
{
	static const struct argp parser = { options, parse_option, "[PID|FILE]", documentation,
					    NULL,    NULL,	   NULL };
	_cleanup_free_ struct arguments *arguments = calloc(1, sizeof(*arguments));
	int code, write_error, r;

	if (!arguments)
		return log_error_errno(ENOMEM, "cannot start"), EXIT_CODE_FAILURE;
	navigation_init(&arguments->start);
	arguments->recorder[arguments->word_count++] = "correlator";
	arguments->recorder[arguments->word_count++] = "record";
	arguments->recorder[arguments->word_count++] = "-o-";
	argp_err_exit_status = EXIT_CODE_USAGE;
	if (arguments_parse(&parser, argc, argv, 0, arguments) != 0)
		return EXIT_CODE_USAGE;
	complete(arguments);
	code = top_run(&arguments->options, &write_error);
	r = streams_finish_flushed_output("the frames", write_error);
	return code == EXIT_CODE_OK && r < 0 ? EXIT_CODE_FAILURE : code;
}
