/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/report_syscalls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "command/recorded_keys.h"
#include "command/stdout_screen.h"
#include "command/streams.h"
#include "reader/query/input.h"
#include "reader/report/format_syscalls.h"
#include "record/record_reader.h"

static int add_record(void *context, struct record_reader *reader, const struct record_view *record)
{
	int r = syscalls_add(context, record);

	return r < 0 ? log_error_errno(r, "cannot report %s", record_reader_name(reader)) : 0;
}

static int check(const struct report_options *options, const struct syscalls *syscalls)
{
	if (syscalls->selection.recording.record_count == 0)
		return log_error(ENODATA, "no records to report");
	if (!syscalls->has_wanted && options->request)
		return log_error(ENOENT, "no request %s in the recording", options->request);
	if (!syscalls->has_wanted)
		return recorded_keys_explain_nothing(&syscalls->selection.recording,
						     &syscalls->selection.filter);
	if (!syscalls->has_any)
		log_warning("the recording has no system calls by name: record with --syscalls");
	recorded_keys_warn_given_up(syscalls->selection.given_up);
	if (syscalls->left_out > 0)
		log_warning("%" PRIu64 " records did not fit in memory: select less with "
			    "--where, --since and --until",
			    syscalls->left_out);
	return options->by
		       ? recorded_keys_check(&syscalls->selection.recording, options->by, "--by")
		       : 0;
}

static int print(const struct report_options *options, const struct syscalls *syscalls)
{
	const struct format_syscalls_options format_options = {
		.format = options->format,
		.width = stdout_screen_width(),
		.top_count = options->top_count,
		.is_bold = stdout_screen_takes_bold(),
	};
	int r = format_syscalls(syscalls, &format_options, stdout);

	return r < 0 ? log_error_errno(r, "cannot report") : 0;
}

/* Filters by the request of --request, if given. 0; -errno, logged. */
static int choose_request(const struct report_options *options, struct filter *filter)
{
	_cleanup_free_ char *condition = NULL;
	int r = 0;

	if (!options->request)
		return 0;
	if (asprintf(&condition, "request_id=%s", options->request) < 0) {
		condition = NULL;
		r = -ENOMEM;
	}
	if (r == 0)
		r = filter_add(filter, condition);
	return r < 0 ? log_error_errno(r, "cannot choose the request %s", options->request) : 0;
}

int report_syscalls(struct report_options *options)
{
	bool is_damaged = false;
	struct syscalls syscalls;
	int r = choose_request(options, &options->filter);

	if (r < 0)
		return r;
	syscalls_init(&syscalls, &options->filter, options->by);
	for (size_t i = 0; i < options->path_count && r == 0; i++) {
		struct input_file file = { 0 };

		r = input_read(options->paths[i], INPUT_STEADY, false, add_record, &syscalls,
			       &file);
		is_damaged |= file.damaged_places > 0;
	}
	if (r == 0 && syscalls_finish(&syscalls) < 0)
		r = log_error_errno(ENOMEM, "cannot report");
	if (r == 0)
		r = check(options, &syscalls);
	if (r == 0)
		r = print(options, &syscalls);
	syscalls_deinit(&syscalls);
	if (r == 0)
		r = streams_finish_output("the report");
	return r == 0 && is_damaged ? -EBADMSG : r;
}
