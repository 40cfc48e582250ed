/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "command/arguments.h"
#include "command/command.h"
#include "command/streams.h"
#include "reader/query/input.h"
#include "reader/report/json_record.h"
#include "record/record_fields.h"
#include "record/record_reader.h"

struct dump_options {
	bool is_chosen[_RECORD_KIND_MAX]; /* false: all kinds */
	bool has_chosen;
	char **paths; /* borrowed from argv */
	size_t path_count;
};

static const struct argp_option argp_options[] = {
	{ "kind", 'k', "KIND", 0,
	  "Only records of this kind (repeatable): meta, process, cpu, slice, stack, sample, syscall, io, "
	  "stall, balance, gap, self, alert",
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
	"Exit status: 0 ok, 1 a file cannot be read, or is damaged (the rest of it is still printed), 2 "
	"usage.";

static void choose_kind(struct dump_options *options, const char *name, struct argp_state *state)
{
	for (int kind = RECORD_KIND_OTHER + 1; kind < _RECORD_KIND_MAX; kind++) {
		if (strcmp(record_kinds[kind].name, name) == 0) {
			options->is_chosen[kind] = options->has_chosen = true;
			return;
		}
	}
	arguments_fail(
		state, EXIT_CODE_USAGE, 0,
		"unknown kind '%s': one of meta, process, cpu, slice, stack, sample, syscall, io, "
		"stall, balance, gap, self, alert",
		name);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct dump_options *options = state->input;

	switch (key) {
	case 'k':
		choose_kind(options, argument, state);
		return 0;
	default:
		return streams_parse_paths(key, state, &options->paths, &options->path_count);
	}
}

static int dump_record(void *context, struct record_reader *reader,
		       const struct record_view *record)
{
	const struct dump_options *options = context;

	if ((!options->has_chosen || options->is_chosen[record->kind]) &&
	    json_record_print(record, stdout) < 0)
		return log_error_errno(ENOMEM, "cannot print a record of %s",
				       record_reader_name(reader));
	/* The reader is gone: skip the rest of the records. */
	return ferror(stdout) ? 1 : 0;
}

static int dump(struct dump_options *options)
{
	bool is_damaged = false;
	int r = 0;

	for (size_t i = 0; i < options->path_count && r == 0; i++) {
		struct input_file file = { 0 };

		r = input_read(options->paths[i], INPUT_AS_WRITTEN, true, dump_record, options,
			       &file);
		is_damaged |= r == -EBADMSG || file.damaged_places > 0;
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
	if (arguments_parse(&argp, argc, argv, 0, &options) != 0)
		return EXIT_CODE_USAGE;
	return dump(&options) < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}
