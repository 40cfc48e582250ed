/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/signals.h"
#include "command/command.h"
#include "command/filter_arguments.h"
#include "command/streams.h"
#include "export/exporter.h"
#include "record/record_reader.h"

struct export_options {
	enum export_format format;
	bool has_format;
	const char *by; /* of OpenMetrics; NULL: the default (exporter.h) */
	struct filter filter;
	char **paths; /* borrowed from argv */
	size_t path_count;
};

static const char *const format_names[_EXPORT_FORMAT_MAX] = { "perfetto", "openmetrics", "ndjson",
							      "csv" };

static const struct argp_option argp_options[] = {
	{ "format", 'f', "FORMAT", 0,
	  "perfetto: a trace for ui.perfetto.dev; openmetrics: sums by a key; ndjson: each record as "
	  "a line of JSON; csv: each cpu record as a row",
	  0 },
	{ "by", 'b', "KEY", 0,
	  "openmetrics: the key (default endpoint where there is one, else request_id, or the first "
	  "key)",
	  0 },
	{ "where", 'w', "KEY=VALUE", 0,
	  "Only of what has this value, or, with KEY~PATTERN, one with * ? [...] (repeatable: of all). "
	  "KEY is one of the records, or pid, tid, comm, thread_name, host_name",
	  0 },
	{ "since", 'S', "TIME", 0,
	  "Only windows that end after it: 2026-11-22T10:15:00Z, or a duration from the first record "
	  "on, such as 30s",
	  0 },
	{ "until", 'U', "TIME", 0, "Only windows that end by then", 0 },
	{ 0 },
};

static const char argp_doc[] =
	"Write recordings made by `correlator record' in the form that another tool reads, to standard "
	"output. FILE - is standard input. A record that is there twice is written once.\v"
	"Without FILE, " COMMAND_RECORDING ", which record writes by default.\n"
	"\n"
	"A trace has a track for each thread and each request; with slices (`record --timeline') every "
	"interval of every thread is there, and who woke it, else each record of a window, from its "
	"first activity to its last.\n"
	"\n"
	"Examples:\n"
	"  correlator export --format perfetto app.rec > app.pftrace\n"
	"  correlator export --format openmetrics app.rec > app.prom\n"
	"  correlator export --format csv --where 'endpoint~GET *' app.rec > app.csv\n"
	"  correlator record -p 4242 -d 10 -o - | correlator export --format ndjson -\n"
	"\n"
	"Exit status: 0 ok, 1 a file cannot be read, or is damaged (the rest of it is written all the "
	"same), 2 usage.";

static void parse_format(struct export_options *options, const char *name, struct argp_state *state)
{
	for (int format = 0; format < _EXPORT_FORMAT_MAX; format++) {
		if (strcmp(name, format_names[format]) == 0) {
			options->format = (enum export_format)format;
			options->has_format = true;
			return;
		}
	}
	argp_failure(state, EXIT_CODE_USAGE, 0,
		     "unknown format '%s': one of perfetto, openmetrics, ndjson, csv", name);
}

static void check_options(const struct export_options *options, struct argp_state *state)
{
	if (!options->has_format)
		argp_error(state, "--format says what to write: perfetto, openmetrics, ndjson or "
				  "csv");
	if (options->by && options->format != EXPORT_FORMAT_OPENMETRICS)
		argp_failure(state, EXIT_CODE_USAGE, 0,
			     "--by is for openmetrics alone: the others write every record");
	if (options->format == EXPORT_FORMAT_PERFETTO && isatty(STDOUT_FILENO))
		argp_failure(state, EXIT_CODE_USAGE, 0,
			     "a trace is no text: write it to a file, with > FILE.pftrace");
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct export_options *options = state->input;

	switch (key) {
	case 'f':
		parse_format(options, argument, state);
		return 0;
	case 'b':
		options->by = argument;
		return 0;
	case 'w':
	case 'S':
	case 'U':
		return filter_arguments_parse(key, argument, &options->filter, state);
	case ARGP_KEY_SUCCESS:
		check_options(options, state);
		return 0;
	default:
		return streams_parse_paths(key, state, &options->paths, &options->path_count);
	}
}

static int export_record(void *context, struct record_reader *reader,
			 const struct record_view *record)
{
	int r = exporter_add(context, record);

	if (r == -EBADMSG)
		record_reader_drop(reader, "damaged: a balance record without its times");
	else if (r < 0)
		return log_error_errno(r, "cannot export %s", record_reader_name(reader));
	/* Nobody reads on: the rest of the records need not be read. */
	return ferror(stdout) ? 1 : 0;
}

static void warn(const struct exporter *exporter)
{
	uint64_t left_out = exporter_left_out(exporter);

	if (exporter_lacks_slices(exporter))
		log_warning(
			"there are no slices in it: the trace has records of windows, from the "
			"first activity to the last (record with --timeline for every interval)");
	if (left_out > 0)
		log_warning("%" PRIu64 " records are left out: their requests went on for too long "
			    "without a value that --where asks for",
			    left_out);
}

static int export(struct export_options *options)
{
	_cleanup_(exporter_freep) struct exporter *exporter = NULL;
	bool is_damaged = false;
	int r = exporter_new(options->format, options->by, &options->filter, stdout, &exporter);

	if (r < 0)
		return log_error_errno(r, "cannot export");
	for (size_t i = 0; i < options->path_count && r == 0; i++) {
		struct format_file file = { 0 };

		r = streams_read(options->paths[i], true, export_record, exporter, &file);
		is_damaged |= r == -EBADMSG || file.damaged_places > 0;
		r = r == -EBADMSG ? 0 : r;
	}
	if (r < 0)
		return r;
	if (options->by && !exporter_has_key(exporter, options->by))
		return log_error(ENOENT, "no record has the key %s", options->by);
	r = exporter_finish(exporter);
	if (r < 0)
		return log_error_errno(r, "cannot export");
	warn(exporter);
	r = streams_finish_output("the export");
	return r == 0 && is_damaged ? -EBADMSG : r;
}

int command_export(int argc, char **argv)
{
	static const struct argp argp = { argp_options, parse_option, "[FILE...]", argp_doc,
					  NULL,		NULL,	      NULL };
	struct export_options options = { 0 };
	int r;

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_CODE_USAGE;
	r = export(&options);
	filter_deinit(&options.filter);
	return r < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}
