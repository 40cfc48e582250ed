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
#include "command/arguments.h"
#include "command/command.h"
#include "command/filter_arguments.h"
#include "command/recorded_keys.h"
#include "command/recorded_samples.h"
#include "command/streams.h"
#include "reader/export/exporter.h"
#include "reader/query/input.h"
#include "record/record_reader.h"

struct export_options {
	enum export_format format;
	bool has_format;
	const char *by; /* for OpenMetrics; NULL: the default (exporter.h) */
	enum stacks_measure measure;
	struct filter filter;
	char **paths; /* borrowed from argv */
	size_t path_count;
};

/* Options without a letter. */
enum {
	OPTION_OFF_CPU = 256,
};

static const char *const format_names[_EXPORT_FORMAT_MAX] = { "perfetto",   "openmetrics", "ndjson",
							      "csv",	    "folded",	   "pprof",
							      "speedscope", "otlp" };

static const struct argp_option argp_options[] = {
	{ "format", 'f', "FORMAT", 0,
	  "perfetto: a trace for ui.perfetto.dev; openmetrics: sums by a key; ndjson: each record as "
	  "a line of JSON; csv: each cpu record as a row; folded: stacks of `record --stacks', for flame graphs; pprof: the same "
	  "for `go tool pprof', with each key as a label; speedscope: the same for speedscope.app, of all and of each endpoint; "
	  "otlp: the same as OpenTelemetry's profiles (v1development, which may change)",
	  0 },
	{ "by", 'b', "KEY", 0,
	  "openmetrics: the key (default endpoint where there is one, else request_id, or the first "
	  "key)",
	  0 },
	{ "off-cpu", OPTION_OFF_CPU, NULL, 0,
	  "Export the stacks in which threads waited, and for how long, instead of the CPU: for "
	  "recordings with `record --stacks=off-cpu'",
	  0 },
	{ "where", 'w', "KEY=VALUE", 0,
	  "Only what has this value or, with KEY~PATTERN, matches a pattern with * ? [...] "
	  "(repeatable: all must hold). KEY is a recorded key, or pid, tid, comm, thread_name, "
	  "host_name",
	  0 },
	{ "since", 'S', "TIME", 0,
	  "Only windows that end after TIME: 2026-11-22T10:15:00Z, 10:15:00 in local time, or a "
	  "duration from the first record on, such as 30s",
	  0 },
	{ "until", 'U', "TIME", 0, "Only windows that end at TIME or before", 0 },
	{ 0 },
};

static const char argp_doc[] =
	"Convert recordings made by `correlator record' for another tool, to standard output. FILE - is "
	"standard input. A record that occurs twice is written once.\v"
	"Without FILE, " COMMAND_RECORDING ", which record writes by default.\n"
	"\n"
	"A trace has a track for each thread and each request: with slices (`record --timeline') every "
	"slice of every thread, and which thread woke it, else each record of a window, from its first "
	"activity to its last.\n"
	"\n"
	"Examples:\n"
	"  correlator export --format perfetto app.rec > app.pftrace\n"
	"  correlator export --format openmetrics app.rec > app.prom\n"
	"  correlator export --format csv --where 'endpoint~GET *' app.rec > app.csv\n"
	"  correlator record -p 4242 -d 10 -o - | correlator export --format ndjson -\n"
	"  correlator export --format folded --where request_id=req-17 app.rec > req-17.folded\n"
	"  correlator export --format pprof app.rec > app.pb.gz; go tool pprof -tagfocus 'GET /orders' app.pb.gz\n"
	"  correlator export --format speedscope app.rec > app.speedscope.json\n"
	"  correlator export --format otlp app.rec > app.otlp\n"
	"\n"
	"Exit status: 0 ok, 1 a file cannot be read, or is damaged (the rest of it is still written), 2 "
	"usage.";

static void parse_format(struct export_options *options, const char *name, struct argp_state *state)
{
	for (int format = 0; format < _EXPORT_FORMAT_MAX; format++) {
		if (strcmp(name, format_names[format]) == 0) {
			options->format = (enum export_format)format;
			options->has_format = true;
			return;
		}
	}
	arguments_fail(
		state, EXIT_CODE_USAGE, 0,
		"unknown format '%s': one of perfetto, openmetrics, ndjson, csv, folded, pprof, speedscope, otlp",
		name);
}

static void check_options(const struct export_options *options, struct argp_state *state)
{
	if (!options->has_format)
		arguments_refuse(state,
				 "--format says what to write: perfetto, openmetrics, ndjson, csv, "
				 "folded, pprof, speedscope or otlp");
	if (options->by && options->format != EXPORT_FORMAT_OPENMETRICS)
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "--by applies to openmetrics only: the other formats write "
			       "every record");
	if (options->measure != STACKS_CPU && !exporter_is_of_stacks(options->format))
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "--off-cpu applies to stacks: folded, pprof, speedscope and otlp");
	if (options->format == EXPORT_FORMAT_PERFETTO && isatty(STDOUT_FILENO))
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "not writing a binary trace to a terminal: redirect it to a "
			       "file, with > FILE.pftrace");
	if (options->format == EXPORT_FORMAT_PPROF && isatty(STDOUT_FILENO))
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "not writing a binary profile to a terminal: redirect it to a "
			       "file, with > FILE.pb.gz");
	if (options->format == EXPORT_FORMAT_OTLP && isatty(STDOUT_FILENO))
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "not writing a binary profile to a terminal: redirect it to a "
			       "file, with > FILE.otlp");
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
	case OPTION_OFF_CPU:
		options->measure = STACKS_OFF_CPU;
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

/* State of an export. */
struct export
{
	struct exporter *exporter;
	int write_error; /* errno of the first write that failed; 0 = none */
};

static void note_write_error(struct export *export)
{
	if (!export->write_error && ferror(stdout))
		export->write_error = errno;
}

static int export_record(void *context, struct record_reader *reader,
			 const struct record_view *record)
{
	struct export *export = context;
	int r = exporter_add(export->exporter, record);

	if (r == -EBADMSG)
		record_reader_drop(reader, "damaged: a balance record without its times");
	else if (r < 0)
		return log_error_errno(r, "cannot export %s", record_reader_name(reader));
	note_write_error(export);
	/* The reader is gone: skip the rest of the records. */
	return export->write_error ? 1 : 0;
}

static void warn(const struct exporter *exporter, enum stacks_measure measure)
{
	uint64_t samples, cpu_records;

	exporter_stacks_left_out(exporter, &samples, &cpu_records);
	if (exporter_lacks_slices(exporter))
		log_warning("the recording has no slices: the trace shows the records of windows, "
			    "each from its first activity to its last; record with --timeline for "
			    "every slice");
	recorded_samples_warn(measure, exporter_lacks_samples(exporter), samples, cpu_records);
	recorded_keys_warn_given_up(exporter_given_up(exporter));
	if (exporter_recording(exporter)->record_count > 0 && !exporter_has_chosen(exporter) &&
	    exporter_given_up(exporter) == 0)
		(void)recorded_keys_explain_nothing(exporter_recording(exporter),
						    exporter_filter(exporter));
}

/* Fails, before the last records are written, if no record has the key. */
static int check_keys(const struct exporter *exporter, const char *by)
{
	const struct recording *recording = exporter_recording(exporter);
	int r = by ? recorded_keys_check(recording, by, "--by") : 0;

	if (r < 0 || recording->record_count == 0)
		return r;
	return recorded_keys_check_filter(recording, exporter_filter(exporter));
}

/* A format that keeps records as they are keeps their clock_set_ns, too. */
static enum input_clock clock_of(enum export_format format)
{
	return format == EXPORT_FORMAT_NDJSON || format == EXPORT_FORMAT_CSV ? INPUT_AS_WRITTEN
									     : INPUT_STEADY;
}

static int run(struct export_options *options)
{
	_cleanup_(exporter_freep) struct exporter *exporter = NULL;
	struct export export = { 0 };
	bool is_damaged = false;
	int r;

	r = exporter_new(options->format, options->by, options->measure, &options->filter, stdout,
			 &exporter);
	if (r < 0)
		return log_error_errno(r, "cannot export");
	export.exporter = exporter;
	for (size_t i = 0; i < options->path_count && r == 0; i++) {
		struct input_file file = { 0 };

		r = input_read(options->paths[i], clock_of(options->format), true, export_record,
			       &export, &file);
		is_damaged |= r == -EBADMSG || file.damaged_places > 0;
		r = r == -EBADMSG ? 0 : r;
	}
	if (r < 0)
		return r;
	r = check_keys(exporter, options->by);
	if (r < 0)
		return r;
	r = exporter_finish(exporter);
	if (r < 0)
		return log_error_errno(r, "cannot export");
	note_write_error(&export);
	warn(exporter, options->measure);
	r = streams_finish_flushed_output("the export", export.write_error);
	return r == 0 && is_damaged ? -EBADMSG : r;
}

int command_export(int argc, char **argv)
{
	static const struct argp argp = { argp_options, parse_option, "[FILE...]", argp_doc,
					  NULL,		NULL,	      NULL };
	struct export_options options = { 0 };
	int r;

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (arguments_parse(&argp, argc, argv, 0, &options) != 0)
		return EXIT_CODE_USAGE;
	r = run(&options);
	filter_deinit(&options.filter);
	return r < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}
