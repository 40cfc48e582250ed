/* SPDX-License-Identifier: GPL-2.0-only */
/* report --stalls: the long waits of requests, and what ended them. */
#pragma once

#include "command/report_arguments.h"

/* Takes the options' filter. 0; -errno, logged. */
int report_stalls(struct report_options *options);
