/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the changes by method, for people and for programs. The caller checks ferror(out). */
#pragma once

#include <stdio.h>

#include "reader/profile/stacks_diff.h"
#include "reader/report/stacks_view.h"

/* Prints in options->format; for programs all methods. 0, -ENOMEM. */
int stacks_diff_view_print(const struct stacks_diff *diff,
			   const struct stacks_view_options *options, FILE *out);
/* Prints the first method_count methods (0: all), changed ones first. */
void stacks_diff_text_print(const struct stacks_diff *diff,
			    const struct stacks_view_options *options, FILE *out);
