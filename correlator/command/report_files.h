/* SPDX-License-Identifier: GPL-2.0-only */
/* The recordings that a report is of, read and added up. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "command/report_arguments.h"
#include "reader/aggregate/totals.h"
#include "reader/query/input.h"
#include "reader/report/format.h"
#include "reader/story/story.h"

/*
 * Of the options' files those from begin on, and before end; what was read of each is in files[]
 * under its number. story NULL: only the totals are wanted, and that the options choose nothing is
 * said. 0; -errno, logged; -ENODATA: there was no record; -ENOENT: they choose by a key of none.
 */
int report_files_read(const struct report_options *options, struct totals *totals,
		      struct story *story, struct input_file *files, size_t begin, size_t end);

/* Grouping by what no record carries would put everything into one row: more likely a slip. 0;
 * -ENOENT, logged. */
int report_files_check_keys(const struct totals *totals);

bool report_files_are_damaged(const struct input_file *files, size_t file_count);
