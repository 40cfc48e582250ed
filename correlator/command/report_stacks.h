/* SPDX-License-Identifier: GPL-2.0-only */
/* report --stacks: in which code the CPU was used. */
#pragma once

#include "command/report_arguments.h"

/* Takes the options' filter. 0; -errno, logged. */
int report_stacks(struct report_options *options);
