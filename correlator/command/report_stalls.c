/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/report_stalls.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "command/report_input.h"
#include "command/stdout_screen.h"
#include "command/streams.h"
#include "reader/report/format_stalls.h"
#include "record/record_reader.h"

static int add_record(void *context, struct record_reader *reader, const struct record_view *record)
{
	int r = stalls_add(context, record);

	return r < 0 ? log_error_errno(r, "cannot report %s", record_reader_name(reader)) : 0;
}

static int check(const struct report_options *options, const struct stalls *stalls)
{
	int r = report_input_check(options, &stalls->selection, stalls->has_wanted,
				   stalls->left_out);

	if (r == 0 && !stalls->has_any)
		log_warning("the recording has no long waits: record with --stall");
	return r;
}

static int print(const struct report_options *options, const struct stalls *stalls)
{
	const struct format_stalls_options format_options = {
		.format = options->format,
		.width = stdout_screen_width(),
		.top_count = options->top_count,
		.is_bold = stdout_screen_takes_bold(),
	};
	int r = format_stalls(stalls, &format_options, stdout);

	return r < 0 ? log_error_errno(r, "cannot report") : 0;
}

int report_stalls(struct report_options *options)
{
	bool is_damaged = false;
	struct stalls stalls;
	int r = report_input_choose_request(options, &options->filter);

	if (r < 0)
		return r;
	stalls_init(&stalls, &options->filter, options->by, options->top_count);
	r = report_input_read(options, add_record, &stalls, &is_damaged);
	if (r == 0 && stalls_finish(&stalls) < 0)
		r = log_error_errno(ENOMEM, "cannot report");
	if (r == 0)
		r = check(options, &stalls);
	if (r == 0)
		r = print(options, &stalls);
	stalls_deinit(&stalls);
	if (r == 0)
		r = streams_finish_output("the report");
	return r == 0 && is_damaged ? -EBADMSG : r;
}
