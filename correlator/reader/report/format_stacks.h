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
#include "reader/report/sheet.h"

struct format_stacks_options {
	enum output_format format;
	size_t width; /* of the screen, in columns */
	bool is_bottom_up; /* what ran above what called it, else the other way round */
	size_t method_count; /* of the table, at most; 0: all */
};

/* After stacks_finish, in the format that is wanted. 0, -ENOMEM. */
int format_stacks(const struct stacks *stacks, const struct format_stacks_options *options,
		  FILE *out);
int format_stacks_table(const struct stacks *stacks, const struct format_stacks_options *options,
			FILE *out);
