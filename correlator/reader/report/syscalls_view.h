/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints system calls by a key of their requests (syscalls.h), for people and for programs, the
 * most frequent ones first. After tally_finish. The caller checks ferror(out). */
#pragma once

#include <stdio.h>

#include "reader/aggregate/syscalls.h"
#include "reader/report/tally_view.h"

/* Prints in options->format. 0, -ENOMEM. */
int syscalls_view_print(const struct tally *syscalls, const struct tally_view_options *options,
			FILE *out);
int syscalls_text_print(const struct tally *syscalls, const struct tally_view_options *options,
			FILE *out);
