/* SPDX-License-Identifier: GPL-2.0-only */
/* What changed between two recordings, for people and for programs: as format.h's, but options'
 * files are the two. */
#pragma once

#include "reader/aggregate/diff.h"
#include "reader/report/format.h"

/* Each: 0 or -ENOMEM. CSV and ndjson have a line for each group, one that
 * counts those which --top hides, if any, and one for all. */
int format_diff_table(const struct diff *diff, const struct format_options *options, FILE *out);
int format_diff_json(const struct diff *diff, const struct format_options *options, FILE *out);
int format_diff_ndjson(const struct diff *diff, const struct format_options *options, FILE *out);
int format_diff_csv(const struct diff *diff, const struct format_options *options, FILE *out);
