/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the recordings of a report. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "command/report_arguments.h"
#include "reader/aggregate/totals.h"
#include "reader/query/input.h"
#include "reader/report/totals_view.h"
#include "reader/story/story.h"

/*
 * Reads the files begin to end - 1 of the options, and describes each in files[] under its number.
 * story NULL: adds up totals only, and logs if the options select nothing. 0; -errno, logged;
 * -ENODATA: no record; -ENOENT: no record has a key that the options select by.
 */
int report_files_read(const struct report_options *options, struct totals *totals,
		      struct story *story, struct input_file *files, size_t begin, size_t end);

/* Refuses to group by a key that no record has, which is most likely a slip: everything would be
 * in one row. 0; -ENOENT, logged. */
int report_files_check_keys(const struct totals *totals);

bool report_files_are_damaged(const struct input_file *files, size_t file_count);
