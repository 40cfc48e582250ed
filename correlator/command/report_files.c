/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/report_files.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "command/streams.h"
#include "record/record_reader.h"

static int reject_record(const struct record_reader *reader, int error)
{
	if (error == -E2BIG)
		return log_error(error,
				 "%s: more than %d distinct values: group by something coarser "
				 "with --by, take longer steps with --step, or less of it with "
				 "--where, --since and --until",
				 record_reader_name(reader), GROUPS_MAX);
	return log_error_errno(error, "cannot add up %s", record_reader_name(reader));
}

/* Of requests that will not be shown it is enough to have the sums. */
static int fold(const struct report_options *options, struct totals *totals)
{
	int r = 0;

	for (size_t i = 0; i < totals->grouping_count && options->top_count > 0 && r == 0; i++)
		r = rows_fold(totals, &totals->groupings[i], options->sort, options->top_count);
	return r;
}

/* What the records are for; story NULL: only the totals are wanted. */
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
	return r < 0 && r != -EBADMSG ? reject_record(reader, r) : 0;
}

int report_files_read(const struct report_options *options, struct totals *totals,
		      struct story *story, struct format_file *files, size_t begin, size_t end)
{
	struct reading reading = { options, totals, story };
	int r;

	for (size_t i = begin; i < end; i++) {
		r = streams_read(options->paths[i], false, add_record, &reading, &files[i]);
		if (r < 0)
			return r;
	}
	r = totals_finish(totals);
	if (r < 0)
		return log_error_errno(r, "cannot report");
	return totals->recording.record_count > 0 ? 0 : log_error(ENODATA, "no records to report");
}

static int check_key(const struct totals *totals, const char *by)
{
	const struct recording *recording = &totals->recording;
	char names[1024] = "none";
	struct text_writer writer;

	if (totals->all.record_count == 0 || grouping_is_by_field(by) ||
	    recording_has_key(recording, by))
		return 0;
	if (recording->key_count > 0)
		text_writer_init(&writer, names, sizeof(names));
	for (size_t i = 0; i < recording->key_count; i++) {
		text_writer_put(&writer, ", ", i > 0 ? 2 : 0);
		text_writer_put(&writer, recording->keys[i], strlen(recording->keys[i]));
	}
	return log_error(ENOENT, "no record has the key %s; keys that occur: %s (choose with --by)",
			 by, names);
}

int report_files_check_keys(const struct totals *totals)
{
	const struct grouping *grouping = &totals->groupings[0];
	int r = 0;

	for (size_t i = 0; i < grouping->key_count && r == 0; i++)
		r = check_key(totals, grouping->keys[i]);
	return r;
}

bool report_files_are_damaged(const struct format_file *files, size_t file_count)
{
	for (size_t i = 0; i < file_count; i++)
		if (files[i].damaged_places)
			return true;
	return false;
}
