/* SPDX-License-Identifier: GPL-2.0-only */
/* What changed between two recordings, for people and for programs: as format.h's, but options'
 * files are the two. */
#pragma once

#include "reader/aggregate/diff.h"
#include "reader/report/format.h"

/* In the format that is wanted: lines have one for each group, one that counts those which --top
 * hides, if any, and one for all. 0 or -ENOMEM. */
int format_diff(const struct diff *diff, const struct format_options *options, FILE *out);
int format_diff_table(const struct diff *diff, const struct format_options *options, FILE *out);
