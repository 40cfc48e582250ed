/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls by their requests' key (syscalls.h): for people those that there are most of, all
 * for programs. Each after syscalls_finish. Check ferror(out). */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "reader/aggregate/syscalls.h"
#include "reader/report/sheet.h"

struct format_syscalls_options {
	enum output_format format;
	size_t width; /* of the screen, in columns */
	size_t top_count; /* of values, and of calls of each; 0: all */
	bool is_bold; /* the heading, by an escape sequence */
};

/* In the format that is wanted. 0, -ENOMEM. */
int format_syscalls(const struct syscalls *syscalls, const struct format_syscalls_options *options,
		    FILE *out);
int format_syscalls_table(const struct syscalls *syscalls,
			  const struct format_syscalls_options *options, FILE *out);
