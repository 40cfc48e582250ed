/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints the chosen stacks as a tree and a list of methods: all of them for programs, and those of
 * at least one hundredth of the time for people. The caller checks ferror(out).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "reader/profile/stacks.h"
#include "reader/report/sheet.h"

struct stacks_view_options {
	enum output_format format;
	size_t width; /* of the screen, in columns */
	bool is_bottom_up; /* callees above callers; else callers above callees */
	size_t method_count; /* most methods in the table; 0: all */
};

/* After stacks_finish. Prints in options->format. 0, -ENOMEM. */
int stacks_view_print(const struct stacks *stacks, const struct stacks_view_options *options,
		      FILE *out);
int stacks_text_print(const struct stacks *stacks, const struct stacks_view_options *options,
		      FILE *out);
