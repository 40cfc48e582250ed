/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/report_stalls.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "command/report_input.h"
#include "command/stdout_screen.h"
#include "command/streams.h"
#include "reader/report/stalls_view.h"
#include "record/record_reader.h"

struct reading {
	struct stalls stalls;
	struct frames frames;
};

static int add_record(void *context, struct record_reader *reader, const struct record_view *record)
{
	struct reading *reading = context;
	int r = stalls_add(&reading->stalls, record);

	if (r == 0 && record->kind == RECORD_KIND_STACK)
		r = frames_add(&reading->frames, record);
	return r < 0 ? log_error_errno(r, "cannot report %s", record_reader_name(reader)) : 0;
}

static int check(const struct report_options *options, const struct stalls *stalls)
{
	int r = report_input_check(options, &stalls->selection, stalls->has_wanted,
				   stalls->left_out);

	if (r == 0 && !stalls->has_any && !stalls->selection.recording.stall_ns)
		log_warning("the recording has no long waits: record with --stall");
	return r;
}

static int print(const struct report_options *options, struct reading *reading)
{
	const struct stalls_view_options view_options = {
		.format = options->format,
		.width = stdout_screen_width(),
		.top_count = options->top_count,
		.is_bold = stdout_screen_takes_bold(),
		.frames = reading->frames.count > 0 ? &reading->frames : NULL,
	};
	int r = stalls_view_print(&reading->stalls, &view_options, stdout);

	return r < 0 ? log_error_errno(r, "cannot report") : 0;
}

int report_stalls(struct report_options *options)
{
	bool is_damaged = false;
	struct reading reading;
	int r = report_input_choose_request(options, &options->filter);

	if (r < 0)
		return r;
	stalls_init(&reading.stalls, &options->filter, options->by, options->top_count);
	frames_init(&reading.frames);
	r = report_input_read(options, add_record, &reading, &is_damaged);
	if (r == 0 && (stalls_finish(&reading.stalls) < 0 || frames_finish(&reading.frames) < 0))
		r = log_error_errno(ENOMEM, "cannot report");
	if (r == 0)
		r = check(options, &reading.stalls);
	if (r == 0)
		r = print(options, &reading);
	stalls_deinit(&reading.stalls);
	frames_deinit(&reading.frames);
	if (r == 0)
		r = streams_finish_output("the report");
	return r == 0 && is_damaged ? -EBADMSG : r;
}
