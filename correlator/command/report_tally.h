/* SPDX-License-Identifier: GPL-2.0-only */
/* Reports of one kind of record by a key of their requests (reader/aggregate/tally.h). */
#pragma once

#include "command/report_arguments.h"

/* report --syscalls: which system calls requests made. Takes the options' filter. 0; -errno,
 * logged. */
int report_tally_syscalls(struct report_options *options);
