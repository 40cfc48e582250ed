/* SPDX-License-Identifier: GPL-2.0-only */
/* Reports of one kind of record by a key of their requests (reader/aggregate/tally.h). */
#pragma once

#include "command/report_arguments.h"

/* Each takes the options' filter. 0; -errno, logged. */

/* report --syscalls: which system calls requests made. */
int report_tally_syscalls(struct report_options *options);
/* report --io: what requests read and wrote. */
int report_tally_io(struct report_options *options);
