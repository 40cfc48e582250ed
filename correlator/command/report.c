/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/text.h"
#include "command/command.h"
#include "command/report_alerts.h"
#include "command/report_arguments.h"
#include "command/report_files.h"
#include "command/report_page.h"
#include "command/report_stacks.h"
#include "command/report_stalls.h"
#include "command/report_tally.h"
#include "command/stdout_screen.h"
#include "command/streams.h"
#include "reader/aggregate/diff.h"
#include "reader/report/diff_view.h"
#include "reader/report/story_view.h"
#include "reader/report/table_columns.h"
#include "reader/report/totals_view.h"
#include "reader/story/story.h"

static struct view_options choose_format(const struct report_options *options,
					 const struct input_file *files)
{
	return (struct view_options){
		.format = options->format,
		.sort = options->sort,
		.top_count = options->top_count,
		.has_top = options->has_top,
		.has_books = options->has_books,
		.has_cost = options->has_cost,
		.columns = options->column_count > 0 ? options->columns : NULL,
		.column_count = options->column_count,
		.is_slowest = options->is_slowest,
		.has_step = options->step_ns > 0,
		.width = stdout_screen_width(),
		.is_endless = stdout_screen_is_endless(),
		.is_bold = stdout_screen_takes_bold(),
		.files = files,
		.file_count = options->path_count,
	};
}

/* story NULL: a report of all requests. */
static int print_report(const struct report_options *options, const struct totals *totals,
			const struct story *story, const struct input_file *files)
{
	struct view_options view_options = choose_format(options, files);

	if (story)
		return story_view_print(story, &view_options, stdout);
	if (options->is_over_time)
		return series_view_print(totals, &view_options, stdout);
	return totals_view_print(totals, &view_options, stdout);
}

/* The tables that may have a figure. */
struct report_tables {
	const struct totals *totals;
	const struct view_options *options;
};

static bool have_figure(enum figure figure, const void *context)
{
	const struct report_tables *tables = context;

	return table_columns_have(tables->totals, tables->options, figure);
}

/* 0, or -EINVAL if no table of this report has the figure: logged, with the figures that it has. */
static int check_field(const struct totals *totals, const struct view_options *options,
		       const char *option, enum figure wanted)
{
	const struct report_tables tables = { totals, options };
	char names[1024];

	if (have_figure(wanted, &tables))
		return 0;
	figure_list(have_figure, &tables, names, sizeof(names));
	return log_error(EINVAL, "%s: a report by %s has no %s; it has %s", option,
			 totals->groupings[0].by, figure_infos[wanted].name, names);
}

/* Checks --sort and --columns, for tables only: the other formats have all fields. */
static int check_fields(struct report_options *options, const struct totals *totals,
			const struct input_file *files)
{
	const struct view_options view_options = choose_format(options, files);
	const char *sort = figure_infos[options->sort].name;
	int r = 0;

	if (options->format != FORMAT_TABLE)
		return 0;
	/* The name of a key is the name of its column, too. */
	if (totals->groupings[0].key_count > 0 && strcmp(sort, totals->groupings[0].keys[0]) == 0)
		options->sort = FIGURE_KEY;
	if (options->has_sort)
		r = check_field(totals, &view_options, "--sort",
				rows_sorted_by(&totals->groupings[0], options->sort));
	for (size_t i = 0; i < options->column_count && r == 0; i++)
		r = check_field(totals, &view_options, "--columns", options->columns[i]);
	options->is_failed = r < 0;
	return r;
}

/* Logs that there is no such request, with similar ids. -ENOENT. */
static int refuse_story(const struct story *story)
{
	const struct recording *recording = &story->totals->selection.recording;
	char hints[STORY_HINTS_MAX * RECORDING_TEXT_BYTES] = "";
	struct text_writer writer;

	if (story->is_left_out)
		return log_error(ENOENT, "request %s is excluded by --where", story->request_id);
	if (!recording_has_key(recording, "request_id"))
		return log_error(ENOENT,
				 "no record has a request_id: record with `--key request_id'");
	text_writer_init(&writer, hints, sizeof(hints));
	for (size_t i = 0; i < STORY_HINTS_MAX && story->hints[i].likeness > 0; i++) {
		const char *id = story->hints[i].request_id;

		text_writer_put(&writer, i > 0 ? ", " : "; like it: ", i > 0 ? 2 : 11);
		text_writer_put(&writer, id, strlen(id));
	}
	return log_error(ENOENT,
			 "no request %s in the recording%s (all are in `correlator report --by "
			 "request_id --top 0')",
			 story->request_id, hints);
}

static int finish_story(struct story *story)
{
	int r = story_finish(story);

	if (r < 0)
		return log_error_errno(r, "cannot report");
	return story_is_there(story) ? 0 : refuse_story(story);
}

static int init_totals(const struct report_options *options, struct totals *totals)
{
	static const char *const of_slowest[] = { "request_id", "endpoint" };
	static const char *const of_story[] = { "endpoint" };
	bool is_one = options->by || options->is_over_time;
	size_t key_count = is_one ? 1 : 2;
	int r;

	if (options->request)
		return totals_init(totals, of_story, 1);
	if (options->is_over_time) {
		r = totals_init(totals, options->by ? &options->by : NULL, key_count);
		if (r == 0)
			grouping_split_over_time(&totals->groupings[0], options->step_ns);
		return r;
	}
	if (!options->is_slowest) {
		r = totals_init(totals, options->by ? &options->by : NULL, key_count);
		/* JSON and CSV hold one table. */
		totals->keeps_one = options->format != FORMAT_TABLE;
		return r;
	}
	r = totals_init(totals, of_slowest, options->slowest_percent > 0 ? 2 : 1);
	if (r == 0)
		totals->groupings[0].above_percent = options->slowest_percent;
	return r;
}

static int report(struct report_options *options)
{
	_cleanup_free_ struct input_file *files =
		calloc(options->path_count, sizeof(struct input_file));
	_cleanup_(totals_deinit) struct totals totals = { 0 };
	_cleanup_(story_deinit) struct story story = { 0 };
	struct story *wanted = options->request ? &story : NULL;
	int r;

	if (!files)
		return log_error_errno(ENOMEM, "cannot report");
	r = init_totals(options, &totals);
	if (r < 0)
		return log_error_errno(r, "cannot report");
	totals.selection.filter = options->filter;
	options->filter = (struct filter){ 0 };
	if (wanted)
		r = story_init(&story, &totals, options->request);
	if (r < 0)
		return log_error_errno(r, "cannot report");
	r = report_files_read(options, &totals, wanted, files, 0, options->path_count);
	if (r == 0 && wanted)
		r = finish_story(&story);
	if (r == 0 && (options->by || options->is_slowest))
		r = report_files_check_keys(&totals);
	if (r == 0 && !wanted)
		r = check_fields(options, &totals, files);
	if (r < 0)
		return r;
	r = print_report(options, &totals, wanted, files);
	if (r < 0)
		return log_error_errno(r, "cannot report");
	r = streams_finish_output("the report");
	/* The report has all that could be read; a damaged file is still a failure. */
	return r == 0 && report_files_are_damaged(files, options->path_count) ? -EBADMSG : r;
}

static int print_diff(const struct report_options *options, const struct totals *before,
		      const struct totals *after, const struct input_file *files)
{
	struct view_options view_options = choose_format(options, files);
	struct diff diff;
	int r = diff_init(&diff, before, after);

	if (r == 0)
		r = diff_view_print(&diff, &view_options, stdout);
	diff_deinit(&diff);
	return r < 0 ? log_error_errno(r, "cannot report") : r;
}

/* Reads one recording, grouped by these keys (NULL: its default ones). */
static int read_side(const struct report_options *options, size_t index, const char *by,
		     struct totals *totals, struct input_file *files)
{
	int r = totals_init(totals, by ? &by : NULL, 1);

	if (r == 0)
		r = filter_copy(&options->filter, &totals->selection.filter);
	if (r < 0)
		return log_error_errno(r, "cannot report");
	r = report_files_read(options, totals, NULL, files, index, index + 1);
	return r == 0 && by ? report_files_check_keys(totals) : r;
}

static int report_diff(const struct report_options *options)
{
	_cleanup_(totals_deinit) struct totals before = { 0 };
	_cleanup_(totals_deinit) struct totals after = { 0 };
	struct input_file files[2] = { 0 };
	int r = read_side(options, 0, options->by, &before, files);

	if (r == 0)
		r = read_side(options, 1, before.groupings[0].by, &after, files);
	if (r == 0)
		r = print_diff(options, &before, &after, files);
	if (r == 0)
		r = streams_finish_output("the report");
	return r == 0 && report_files_are_damaged(files, 2) ? -EBADMSG : r;
}

static int report_as_asked(struct report_options *options)
{
	int r;

	if (options->alerts)
		return report_alerts(options->alerts, &options->filter, options->paths,
				     options->path_count);
	if (options->html)
		r = report_page_write(options);
	else if (options->is_stacks)
		r = report_stacks(options);
	else if (options->is_syscalls)
		r = report_tally_syscalls(options);
	else if (options->is_io)
		r = report_tally_io(options);
	else if (options->is_stalls)
		r = report_stalls(options);
	else
		r = options->is_diff ? report_diff(options) : report(options);
	return r < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

int command_report(int argc, char **argv)
{
	struct report_options options;
	int code;

	if (!report_arguments_parse(argc, argv, &options))
		return EXIT_CODE_USAGE;
	code = report_as_asked(&options);
	if (options.is_failed)
		code = EXIT_CODE_USAGE;
	report_arguments_deinit(&options);
	return code;
}
