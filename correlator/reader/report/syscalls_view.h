/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints system calls by a key of their requests (syscalls.h), for people and for programs, the
 * most frequent ones first. After tally_finish. The caller checks ferror(out). */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "reader/aggregate/syscalls.h"
#include "reader/report/sheet.h"

struct syscalls_view_options {
	enum output_format format;
	size_t width; /* of the screen, in columns */
	size_t top_count; /* most values, and most calls of each; 0: all */
	bool is_bold; /* the heading, by an escape sequence */
};

/* Prints in options->format. 0, -ENOMEM. */
int syscalls_view_print(const struct tally *syscalls, const struct syscalls_view_options *options,
			FILE *out);
int syscalls_text_print(const struct tally *syscalls, const struct syscalls_view_options *options,
			FILE *out);
