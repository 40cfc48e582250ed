/* SPDX-License-Identifier: GPL-2.0-only */
/* report --syscalls: which system calls requests made. */
#pragma once

#include "command/report_arguments.h"

/* Takes the options' filter. 0; -errno, logged. */
int report_syscalls(struct report_options *options);
