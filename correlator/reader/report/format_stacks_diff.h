/* SPDX-License-Identifier: GPL-2.0-only */
/* What changed by method, for people and for programs. Check ferror(out). */
#pragma once

#include <stdio.h>

#include "reader/profile/stacks_diff.h"
#include "reader/report/format_stacks.h"

/* In the format that is wanted: for programs all methods. 0, -ENOMEM. */
int format_stacks_diff(const struct stacks_diff *diff, const struct format_stacks_options *options,
		       FILE *out);
/* What changed, and at most so many methods in all. */
void format_stacks_diff_table(const struct stacks_diff *diff,
			      const struct format_stacks_options *options, FILE *out);
