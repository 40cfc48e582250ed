/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/report_stacks.h"

#include <errno.h>
#include <stdint.h>

#include "base/log.h"
#include "command/recorded_keys.h"
#include "command/recorded_samples.h"
#include "command/stdout_screen.h"
#include "command/streams.h"
#include "reader/query/input.h"
#include "reader/report/stacks_diff_view.h"
#include "reader/report/stacks_view.h"
#include "record/record_reader.h"

enum {
	METHODS_SHOWN = 20, /* default number of methods where --top counts requests */
};

static int add_record(void *context, struct record_reader *reader, const struct record_view *record)
{
	int r = stacks_add(context, record);

	return r < 0 ? log_error_errno(r, "cannot report %s", record_reader_name(reader)) : 0;
}

static int check(const struct stacks *stacks)
{
	if (stacks->selection.recording.record_count == 0)
		return log_error(ENODATA, "no records to report");
	if (!stacks->has_wanted)
		return recorded_keys_explain_nothing(&stacks->selection.recording,
						     &stacks->selection.filter);
	recorded_samples_warn(stacks->measure, stacks->sums.samples == 0, stacks->samples_left_out,
			      stacks->cpu_records_left_out);
	return 0;
}

static int print(const struct report_options *options, const struct stacks *stacks)
{
	const struct stacks_view_options view_options = {
		.format = options->format,
		.width = stdout_screen_width(),
		.is_bottom_up = options->is_bottom_up,
		.method_count = options->is_slowest ? METHODS_SHOWN : options->top_count,
	};
	int r = stacks_view_print(stacks, &view_options, stdout);

	return r < 0 ? log_error_errno(r, "cannot report") : r;
}

/* Reads the files begin to end - 1 of the options. */
static int read_files(const struct report_options *options, size_t begin, size_t end,
		      struct stacks *stacks, bool *is_damaged)
{
	int r = 0;

	for (size_t i = begin; i < end && r == 0; i++) {
		struct input_file file = { 0 };

		r = input_read(options->paths[i], INPUT_STEADY, false, add_record, stacks, &file);
		*is_damaged |= file.damaged_places > 0;
	}
	if (r != 0)
		return r;
	r = stacks_finish(stacks);
	recorded_keys_warn_given_up(stacks->selection.given_up);
	return r < 0 ? log_error_errno(r, "cannot report") : 0;
}

static int report_tree(struct report_options *options, bool *is_damaged)
{
	size_t count = options->top_count > 0 ? options->top_count : SIZE_MAX; /* 0: all */
	const struct stacks_slowest slowest = {
		.count = options->slowest_percent > 0 ? 0 : count,
		.percent = options->slowest_percent,
		.by_cpu = options->sort == FIGURE_CPU,
	};
	struct stacks stacks;
	int r;

	stacks_init(&stacks, options->measure, &options->filter);
	r = read_files(options, 0, options->path_count, &stacks, is_damaged);
	if (r == 0 && options->is_slowest && stacks_keep_slowest(&stacks, &slowest) < 0)
		r = log_error_errno(ENOMEM, "cannot report");
	if (r == 0)
		r = check(&stacks);
	if (r == 0)
		r = print(options, &stacks);
	stacks_deinit(&stacks);
	return r;
}

static int print_diff(const struct report_options *options, const struct stacks *before,
		      const struct stacks *after)
{
	const struct stacks_view_options view_options = {
		.format = options->format,
		.width = stdout_screen_width(),
		.method_count = options->top_count,
	};
	struct stacks_diff diff;
	int r = stacks_diff_init(&diff, before, after);

	if (r == 0)
		r = stacks_diff_view_print(&diff, &view_options, stdout);
	stacks_diff_deinit(&diff);
	return r < 0 ? log_error_errno(r, "cannot report") : r;
}

static int report_diff(const struct report_options *options, bool *is_damaged)
{
	struct stacks sides[2];
	int r = 0;

	for (size_t i = 0; i < 2; i++) {
		struct filter filter = { 0 };

		if (r == 0)
			r = filter_copy(&options->filter, &filter);
		stacks_init(&sides[i], options->measure, &filter);
	}
	if (r < 0)
		r = log_error_errno(r, "cannot report");
	for (size_t i = 0; i < 2 && r == 0; i++) {
		r = read_files(options, i, i + 1, &sides[i], is_damaged);
		if (r == 0)
			r = check(&sides[i]);
	}
	if (r == 0)
		r = print_diff(options, &sides[0], &sides[1]);
	for (size_t i = 0; i < 2; i++)
		stacks_deinit(&sides[i]);
	return r;
}

int report_stacks(struct report_options *options)
{
	bool is_damaged = false;
	int r = options->is_diff ? report_diff(options, &is_damaged)
				 : report_tree(options, &is_damaged);

	if (r == 0)
		r = streams_finish_output("the report");
	return r == 0 && is_damaged ? -EBADMSG : r;
}
