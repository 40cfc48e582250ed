/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/signals.h"
#include "command/command.h"
#include "command/streams.h"
#include "record/record_fields.h"
#include "record/record_reader.h"
#include "report/json_part.h"

struct dump_options {
	bool is_chosen[_RECORD_KIND_MAX]; /* none: all are */
	bool has_chosen;
	char **paths; /* borrowed from argv */
	size_t path_count;
};

static const struct argp_option argp_options[] = {
	{ "kind", 'k', "KIND", 0,
	  "Only records of this kind (repeatable): meta, process, cpu, slice, balance, gap, self",
	  0 },
	{ 0 },
};

static const char argp_doc[] =
	"Print every record of recordings made by `correlator record' as a line of JSON. FILE - is "
	"standard input.\v"
	"Without FILE, " COMMAND_RECORDING
	", which record writes by default. wall_ns is the record's "
	"own time, in nanoseconds since 1970; the fields are those of the record format. Bytes that are "
	"no text are escaped as \\xNN.\n"
	"\n"
	"Examples:\n"
	"  correlator dump app.rec | head\n"
	"  correlator dump --kind cpu app.rec | jq 'select(.blocked_ns > 1000000)'\n"
	"  correlator record -p 4242 -d 10 -o - | correlator dump -\n"
	"\n"
	"Exit status: 0 ok, 1 a file cannot be read, or is damaged (the rest of it is printed all the "
	"same), 2 usage.";

static void choose_kind(struct dump_options *options, const char *name, struct argp_state *state)
{
	for (int kind = RECORD_KIND_OTHER + 1; kind < _RECORD_KIND_MAX; kind++) {
		if (strcmp(record_kinds[kind].name, name) == 0) {
			options->is_chosen[kind] = options->has_chosen = true;
			return;
		}
	}
	argp_failure(state, EXIT_CODE_USAGE, 0,
		     "unknown kind '%s': one of meta, process, cpu, slice, balance, gap, self",
		     name);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct dump_options *options = state->input;

	switch (key) {
	case 'k':
		choose_kind(options, argument, state);
		return 0;
	case ARGP_KEY_ARGS:
		options->paths = state->argv + state->next;
		options->path_count = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		options->paths = streams_default_paths(state);
		options->path_count = 1;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* 0; -EBADMSG: some of it was damaged; another -errno, logged. */
static int dump_file(const struct dump_options *options, const char *path)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	_cleanup_free_ struct record_view *view = malloc(sizeof(*view));
	uint64_t damaged_places, damaged_bytes;
	int r;

	if (!view)
		return log_error_errno(ENOMEM, "cannot read %s", path);
	r = record_reader_open(path, &reader);
	/* Nobody reads on: the rest of the records need not be read. */
	while (r >= 0 && !ferror(stdout) && (r = record_reader_next(reader, view)) > 0) {
		if (options->has_chosen && !options->is_chosen[view->kind])
			continue;
		if (json_part_print_record(view, stdout) < 0)
			return log_error_errno(ENOMEM, "cannot print a record of %s", path);
	}
	if (r < 0)
		return r;
	record_reader_get_damage(reader, &damaged_places, &damaged_bytes);
	return damaged_places > 0 ? -EBADMSG : 0;
}

static int dump(const struct dump_options *options)
{
	bool is_damaged = false;
	int r = 0;

	for (size_t i = 0; i < options->path_count && r == 0; i++) {
		streams_spare_writer(options->paths[i]);
		r = dump_file(options, options->paths[i]);
		signals_obey_interrupt();
		is_damaged |= r == -EBADMSG;
		r = r == -EBADMSG ? 0 : r;
	}
	if (r == 0)
		r = streams_finish_output("the records");
	return r == 0 && is_damaged ? -EBADMSG : r;
}

int command_dump(int argc, char **argv)
{
	static const struct argp argp = { argp_options, parse_option, "[FILE...]", argp_doc,
					  NULL,		NULL,	      NULL };
	struct dump_options options = { 0 };

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_CODE_USAGE;
	return dump(&options) < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}
