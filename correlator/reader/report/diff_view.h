/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the changes between two recordings, for people and for programs. As in format.h, but
 * options->files are the two. */
#pragma once

#include "reader/aggregate/diff.h"
#include "reader/report/totals_view.h"

/* Prints in options->format. Its rows are one per group, one that counts the groups hidden by
 * --top, if any, and one for all requests. 0 or -ENOMEM. */
int diff_view_print(const struct diff *diff, const struct view_options *options, FILE *out);
int diff_text_print(const struct diff *diff, const struct view_options *options, FILE *out);
