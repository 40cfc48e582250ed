/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/report_syscalls.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "command/report_input.h"
#include "command/stdout_screen.h"
#include "command/streams.h"
#include "reader/report/syscalls_view.h"
#include "record/record_reader.h"

static int add_record(void *context, struct record_reader *reader, const struct record_view *record)
{
	int r = tally_add(context, record);

	return r < 0 ? log_error_errno(r, "cannot report %s", record_reader_name(reader)) : 0;
}

static int check(const struct report_options *options, const struct tally *syscalls)
{
	int r = report_input_check(options, &syscalls->selection, syscalls->has_wanted,
				   syscalls->left_out);

	if (r == 0 && !syscalls->has_any)
		log_warning("the recording has no system calls by name: record with --syscalls");
	return r;
}

static int print(const struct report_options *options, const struct tally *syscalls)
{
	const struct syscalls_view_options view_options = {
		.format = options->format,
		.width = stdout_screen_width(),
		.top_count = options->top_count,
		.is_bold = stdout_screen_takes_bold(),
	};
	int r = syscalls_view_print(syscalls, &view_options, stdout);

	return r < 0 ? log_error_errno(r, "cannot report") : 0;
}

int report_syscalls(struct report_options *options)
{
	bool is_damaged = false;
	struct tally syscalls;
	int r = report_input_choose_request(options, &options->filter);

	if (r < 0)
		return r;
	tally_init(&syscalls, &syscalls_subject, &options->filter, options->by);
	r = report_input_read(options, add_record, &syscalls, &is_damaged);
	if (r == 0 && tally_finish(&syscalls) < 0)
		r = log_error_errno(ENOMEM, "cannot report");
	if (r == 0)
		r = check(options, &syscalls);
	if (r == 0)
		r = print(options, &syscalls);
	tally_deinit(&syscalls);
	if (r == 0)
		r = streams_finish_output("the report");
	return r == 0 && is_damaged ? -EBADMSG : r;
}
