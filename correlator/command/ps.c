/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/display.h"
#include "base/log.h"
#include "base/rights.h"
#include "command/arguments.h"
#include "command/command.h"
#include "command/stdout_screen.h"
#include "command/streams.h"
#include "reader/report/table.h"
#include "record/watch_mode.h"
#include "recorder/target/discovery/discovery.h"
#include "recorder/target/proc/namespaces.h"
#include "recorder/target/proc/process.h"
#include "recorder/target/proc/process_access.h"

enum {
	TEXT_BYTES = 64
};

enum column {
	COLUMN_PID,
	COLUMN_NAME,
	COLUMN_SERVER,
	COLUMN_RUBY,
	COLUMN_PUBLISHES,
	COLUMN_MODE,
	_COLUMN_MAX,
};

struct ruby {
	pid_t pid;
	bool publishes_nothing;
	bool has_gaps; /* its gem misses some fibers (ruby/README.md) */
	char cells[_COLUMN_MAX][TEXT_BYTES];
};

struct ruby_list {
	struct ruby *rubies;
	size_t count;
	size_t capacity;
};

static struct ruby *add_ruby(struct ruby_list *listing)
{
	size_t capacity = listing->capacity ? 2 * listing->capacity : 16;
	struct ruby *ruby;

	if (listing->count == listing->capacity) {
		ruby = reallocarray(listing->rubies, capacity, sizeof(*ruby));
		if (!ruby)
			return NULL;
		listing->rubies = ruby;
		listing->capacity = capacity;
	}
	ruby = &listing->rubies[listing->count++];
	*ruby = (struct ruby){ 0 };
	return ruby;
}

static void set(struct ruby *ruby, enum column column, const char *text)
{
	char escaped[4 * TEXT_BYTES];

	(void)display_escape(text, strlen(text), escaped, sizeof(escaped));
	display_fit(escaped, TABLE_TEXT_COLUMN_MAX, ruby->cells[column], TEXT_BYTES);
}

static void describe_publisher(struct ruby *ruby, const struct target *target)
{
	const struct publisher *publisher = target_publisher(target);
	bool has_otel = otel_target_is_readable(&target->otel);
	const char *gem = !publisher		   ? NULL
			  : publisher->has_threads ? "gem correlator"
						   : "gem ruby-profiler";
	char text[TEXT_BYTES];

	ruby->publishes_nothing = !publisher && !has_otel;
	ruby->has_gaps = publisher && !publisher->has_threads;
	(void)snprintf(text, sizeof(text), "%s%s%s", gem ? gem : "", gem && has_otel ? ", " : "",
		       has_otel ? "OpenTelemetry" : "");
	set(ruby, COLUMN_PUBLISHES, text[0] ? text : "nothing");
	set(ruby, COLUMN_MODE,
	    ruby->publishes_nothing
		    ? "-"
		    : watch_mode_name(publisher && publisher->site_count > 0 ? WATCH_MODE_EXACT
									     : WATCH_MODE_LEAN));
}

static int add(struct ruby_list *listing, const struct target *target)
{
	struct ruby *ruby = add_ruby(listing);
	const char *server = process_server_name(target->info.pid);
	char pid[TEXT_BYTES];

	if (!ruby)
		return -ENOMEM;
	ruby->pid = target->info.pid;
	(void)snprintf(pid, sizeof(pid), "%d", target->info.pid);
	set(ruby, COLUMN_PID, pid);
	set(ruby, COLUMN_NAME, target->info.comm);
	set(ruby, COLUMN_SERVER, server ? server : "-");
	set(ruby, COLUMN_RUBY, target->ruby.version);
	describe_publisher(ruby, target);
	return 0;
}

static int on_found(void *user, struct target *target)
{
	int r = add(user, target);

	target_free(target);
	return r;
}

static int on_candidate(void *user, const struct target *target)
{
	(void)add(user, target);
	return -1;
}

static void on_dropped(void *user, pid_t pid)
{
	(void)user;
	(void)pid;
}

static void write_cell(const void *context, size_t row, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct ruby_list *listing = context;

	(void)strcpy(ret_text, listing->rubies[row].cells[column]);
}

static int compare(const void *a, const void *b)
{
	const struct ruby *first = a, *second = b;

	return (first->pid > second->pid) - (first->pid < second->pid);
}

static void print_rows(struct ruby_list *listing)
{
	static const struct table_column columns[_COLUMN_MAX] = {
		[COLUMN_PID] = { "pid", 0, true },
		[COLUMN_NAME] = { "name", 2, true },
		[COLUMN_SERVER] = { "server", 3, true },
		[COLUMN_RUBY] = { "ruby", 4, true },
		[COLUMN_PUBLISHES] = { "publishes", 0, true },
		[COLUMN_MODE] = { "mode", 1, true },
	};
	struct table table = {
		.columns = columns,
		.column_count = _COLUMN_MAX,
		.row_count = listing->count,
		.width = stdout_screen_is_endless() ? SIZE_MAX : stdout_screen_width(),
		.is_bold = stdout_screen_takes_bold(),
		.cell = write_cell,
		.context = listing,
	};

	qsort(listing->rubies, listing->count, sizeof(*listing->rubies), compare);
	(void)table_print(&table, stdout);
}

/* Prints a remedy for processes that cannot be observed, or not exactly. */
static void print_remedies(const struct ruby_list *listing)
{
	bool has_nothing = false, has_gaps = false;
	size_t width = stdout_screen_width();

	for (size_t i = 0; i < listing->count; i++) {
		has_nothing |= listing->rubies[i].publishes_nothing;
		has_gaps |= listing->rubies[i].has_gaps;
	}
	if (has_nothing || has_gaps)
		(void)putchar('\n');
	if (has_nothing)
		display_sentence(stdout, width, DISPLAY_INDENT,
				 "nothing: add the gem `correlator' to the application and restart "
				 "it (man correlator-gem); `correlator doctor PID' says more");
	if (has_gaps)
		display_sentence(stdout, width, DISPLAY_INDENT,
				 "gem ruby-profiler: fibers that a request starts work for nobody; "
				 "the gem `correlator' follows them");
}

/* Inspects all processes once. 0 or -errno. */
static int find(struct ruby_list *listing, size_t *ret_unreadable)
{
	_cleanup_(discovery_freep) struct discovery *discovery = NULL;
	const struct target_keys keys = { .wants_ruby = true, .wants_otel = true };
	const struct discovery_owner owner = {
		.on_found = on_found,
		.on_candidate = on_candidate,
		.on_dropped = on_dropped,
		.user = listing,
	};
	int r = discovery_new(NULL, NULL, &keys, NULL, &discovery);

	if (r == 0)
		r = discovery_look(discovery, clock_monotonic_ns(), &owner);
	if (r == 0)
		*ret_unreadable = discovery_unreadable(discovery);
	return r;
}

static int list_processes(struct ruby_list *listing)
{
	const char *lacks = process_access_lacks();
	size_t unreadable = 0;
	int r;

	if (namespaces_check_own_proc())
		return EXIT_CODE_UNSUPPORTED;
	r = find(listing, &unreadable);
	if (r < 0) {
		(void)log_error_errno(r, "cannot look at the processes");
		return EXIT_CODE_FAILURE;
	}
	/* With all privileges there is no remedy. */
	if (unreadable > 0 && lacks[0])
		log_warning("%zu process%s may not be read%s", unreadable,
			    unreadable == 1 ? "" : "es", lacks);
	if (listing->count == 0) {
		(void)log_error(ENOENT, "no process is Ruby%s",
				unreadable > 0 && lacks[0] ? ", of those that may be read" : "");
		return EXIT_CODE_NO_TARGET;
	}
	print_rows(listing);
	print_remedies(listing);
	return streams_finish_output("the list") < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

int command_ps(int argc, char **argv)
{
	static const struct argp_option options[] = { { 0 } };
	static const struct argp parser = {
		options,
		NULL,
		NULL,
		"Lists the Ruby processes of the machine: which of them publish what request they "
		"work for, by what, and how exact a recording of them is."
		"\vname is the process's own, server what serves requests there. publishes: gem "
		"correlator, gem ruby-profiler, OpenTelemetry, or nothing. mode: exact, or lean, "
		"where no probe tells of changes of context.\n\n"
		"EXAMPLES\n"
		"  correlator ps\n"
		"  sudo correlator ps\n\n"
		"Exit status: 0 ok, 1 failure, 2 usage, 3 the kernel or a privilege lacks "
		"something, 4 no process is Ruby.",
		NULL,
		NULL,
		NULL
	};
	struct ruby_list listing = { 0 };
	int code;

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (arguments_parse(&parser, argc, argv, 0, NULL) != 0)
		return EXIT_CODE_USAGE;
	rights_raise();
	code = list_processes(&listing);
	free(listing.rubies);
	return code;
}
