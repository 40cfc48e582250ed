/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The chosen stacks as a tree and a list of methods: for people, what is less than a hundredth left
 * out, and all of it for programs. Check ferror(out).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "reader/profile/stacks.h"

struct format_stacks_options {
	size_t width; /* of the screen, in columns */
	bool is_bottom_up; /* what ran above what called it, else the other way round */
	size_t method_count; /* of the table, at most; 0: all */
};

/* Each after stacks_finish. 0, -ENOMEM. */
int format_stacks(const struct stacks *stacks, const struct format_stacks_options *options,
		  FILE *out);
/* These have branches by line, as rows, each with the number of its parent: a tree would be nested
 * deeper than parsers take. */
int format_stacks_json(const struct stacks *stacks, const struct format_stacks_options *options,
		       FILE *out);
int format_stacks_csv(const struct stacks *stacks, const struct format_stacks_options *options,
		      FILE *out);
