/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/report_page.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "command/report_files.h"
#include "command/streams.h"
#include "reader/report/html/page_output.h"

/* One side of a page: a recording, or several that are added up. */
struct side {
	struct totals totals;
	struct page_data data;
	struct input_file *files;
};

static void side_deinit(struct side *side)
{
	page_data_deinit(&side->data);
	totals_deinit(&side->totals);
	free(side->files);
}

static int read_side(const struct report_options *options, struct side *side)
{
	int r;

	side->files = calloc(options->path_count, sizeof(*side->files));
	r = side->files ? totals_init(&side->totals, options->by ? &options->by : NULL,
				      options->by ? 1 : 2)
			: -ENOMEM;
	side->totals.keeps_one = true;
	if (r == 0)
		r = filter_copy(&options->filter, &side->totals.selection.filter);
	if (r == 0)
		r = page_data_init(&side->data, &side->totals, NULL);
	if (r < 0)
		return log_error_errno(r, "cannot report");
	r = report_files_read(options, &side->totals, NULL, side->files, 0, options->path_count);
	if (r == 0 && options->by)
		r = report_files_check_keys(&side->totals);
	if (r < 0)
		return r;
	r = page_data_finish(&side->data);
	return r < 0 ? log_error_errno(r, "cannot report") : 0;
}

static struct page_recording recording_of(const struct report_options *options,
					  const struct side *side)
{
	return (struct page_recording){ .totals = &side->totals,
					.data = &side->data,
					.options = { .sort = options->sort,
						     .top_count = options->top_count,
						     .files = side->files,
						     .file_count = options->path_count } };
}

int report_page_write(const struct report_options *options)
{
	struct report_options other = *options;
	_cleanup_(side_deinit) struct side first = { 0 }, second = { 0 };
	struct page_recording recordings[PAGE_RECORDINGS_MAX];
	bool has_second = options->compare;
	int r = page_output_check(options->html);

	other.paths = &other.compare;
	other.path_count = 1;
	if (r == 0)
		r = read_side(options, &first);
	if (r == 0 && has_second)
		r = read_side(&other, &second);
	if (r < 0)
		return r;
	recordings[0] = recording_of(options, &first);
	recordings[1] = recording_of(&other, &second);
	r = page_output_write(options->html, recordings, has_second ? 2 : 1);
	if (r == 0)
		r = streams_finish_output("the page");
	if (r == 0 && (report_files_are_damaged(first.files, options->path_count) ||
		       (has_second && report_files_are_damaged(second.files, 1))))
		r = -EBADMSG;
	return r;
}
