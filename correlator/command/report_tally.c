/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/report_tally.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "command/report_input.h"
#include "command/stdout_screen.h"
#include "command/streams.h"
#include "reader/report/io_view.h"
#include "reader/report/syscalls_view.h"
#include "record/record_reader.h"

struct subject {
	const struct tally_subject *summed;
	int (*print)(const struct tally *tally, const struct tally_view_options *options,
		     FILE *out);
	const char *missing; /* the warning if there is no such record */
};

static int add_record(void *context, struct record_reader *reader, const struct record_view *record)
{
	int r = tally_add(context, record);

	return r < 0 ? log_error_errno(r, "cannot report %s", record_reader_name(reader)) : 0;
}

static int check(const struct report_options *options, const struct subject *subject,
		 const struct tally *tally)
{
	int r = report_input_check(options, &tally->selection, tally->has_wanted, tally->left_out);

	if (r == 0 && !tally->has_any)
		log_warning("%s", subject->missing);
	return r;
}

static int print(const struct report_options *options, const struct subject *subject,
		 const struct tally *tally)
{
	const struct tally_view_options view_options = {
		.format = options->format,
		.width = stdout_screen_width(),
		.top_count = options->top_count,
		.is_bold = stdout_screen_takes_bold(),
	};
	int r = subject->print(tally, &view_options, stdout);

	return r < 0 ? log_error_errno(r, "cannot report") : 0;
}

static int report(struct report_options *options, const struct subject *subject)
{
	bool is_damaged = false;
	struct tally tally;
	int r = report_input_choose_request(options, &options->filter);

	if (r < 0)
		return r;
	tally_init(&tally, subject->summed, &options->filter, options->by);
	r = report_input_read(options, add_record, &tally, &is_damaged);
	if (r == 0 && tally_finish(&tally) < 0)
		r = log_error_errno(ENOMEM, "cannot report");
	if (r == 0)
		r = check(options, subject, &tally);
	if (r == 0)
		r = print(options, subject, &tally);
	tally_deinit(&tally);
	if (r == 0)
		r = streams_finish_output("the report");
	return r == 0 && is_damaged ? -EBADMSG : r;
}

int report_tally_syscalls(struct report_options *options)
{
	static const struct subject subject = {
		&syscalls_subject, syscalls_view_print,
		"the recording has no system calls by name: record with --syscalls"
	};

	return report(options, &subject);
}

int report_tally_io(struct report_options *options)
{
	static const struct subject subject = { &io_subject, io_view_print,
						"the recording has no I/O: record with --io" };

	return report(options, &subject);
}
