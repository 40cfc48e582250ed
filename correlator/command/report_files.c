/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/report_files.h"

#include <errno.h>

#include "base/log.h"
#include "command/recorded_keys.h"
#include "command/streams.h"
#include "reader/query/input.h"
#include "record/record_reader.h"

enum {
	SETTLED_AT_ONCE = REQUESTS_OPEN_MAX / 8
};

static int reject(const char *name, int error)
{
	if (error == -E2BIG)
		return log_error(error,
				 "%s: more than %d distinct values: group by something coarser "
				 "with --by, take longer steps with --step, or less of it with "
				 "--where, --since and --until",
				 name, GROUPS_MAX);
	return log_error_errno(error, "cannot add up %s", name);
}

/* Keeps only the sums of rows that will not be shown; of values only if no other part of the
 * report needs all of them. */
static int fold(const struct report_options *options, struct totals *totals)
{
	bool is_of_all =
		options->is_diff || options->html || totals->groupings[0].above_percent > 0;
	int r = 0;

	for (size_t i = 0; i < totals->grouping_count && options->top_count > 0 && r == 0; i++) {
		struct grouping *grouping = &totals->groupings[i];

		if (grouping->is_by_request || !is_of_all)
			r = rows_fold(totals, grouping, options->sort, options->top_count);
	}
	return r;
}

/* Finishes in steps, so that not all values of open requests are in memory at once. */
static int finish(const struct report_options *options, struct totals *totals)
{
	size_t open_max = REQUESTS_OPEN_MAX;
	int r = 0;

	while (open_max > 0 && r == 0) {
		open_max -= SETTLED_AT_ONCE;
		r = totals_settle(totals, open_max);
		if (r == 0)
			r = fold(options, totals);
	}
	return r == 0 ? totals_finish(totals) : r;
}

/* The consumers of the records; story NULL: only totals. */
struct reading {
	const struct report_options *options;
	struct totals *totals;
	struct story *story;
};

static int add_record(void *context, struct record_reader *reader, const struct record_view *record)
{
	const struct reading *reading = context;
	int r = reading->story ? story_add(reading->story, record)
			       : totals_add(reading->totals, record);

	if (r == -EBADMSG)
		record_reader_drop(reader, "damaged: a balance record without its times");
	else if (r == 0 && !reading->story)
		r = fold(reading->options, reading->totals);
	return r < 0 && r != -EBADMSG ? reject(record_reader_name(reader), r) : 0;
}

int report_files_read(const struct report_options *options, struct totals *totals,
		      struct story *story, struct input_file *files, size_t begin, size_t end)
{
	struct reading reading = { options, totals, story };
	int r;

	for (size_t i = begin; i < end; i++) {
		r = input_read(options->paths[i], INPUT_STEADY, false, add_record, &reading,
			       &files[i]);
		if (r < 0)
			return r;
	}
	/* A story finishes its own listeners. */
	r = story ? totals_finish(totals) : finish(options, totals);
	if (r < 0)
		return reject("the recording", r);
	recorded_keys_warn_given_up(totals->selection.given_up);
	if (totals->selection.recording.record_count == 0)
		return log_error(ENODATA, "no records to report");
	if (story || totals->all.record_count > 0)
		return 0;
	return recorded_keys_explain_nothing(&totals->selection.recording,
					     &totals->selection.filter);
}

int report_files_check_keys(const struct totals *totals)
{
	const struct grouping *grouping = &totals->groupings[0];
	int r = 0;

	if (totals->all.record_count == 0)
		return 0;
	for (size_t i = 0; i < grouping->key_count && r == 0; i++)
		r = recorded_keys_check(&totals->selection.recording, grouping->keys[i], "--by");
	return r;
}

bool report_files_are_damaged(const struct input_file *files, size_t file_count)
{
	for (size_t i = 0; i < file_count; i++)
		if (files[i].damaged_places)
			return true;
	return false;
}
