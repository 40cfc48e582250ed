/* SPDX-License-Identifier: GPL-2.0-only */
/* A process that was named and cannot be looked at: in the words of `record` and of `doctor`. */
#pragma once

#include <sys/types.h>

/* r: -errno, as target_open() or target_refresh() gave it. Logs why, and what to do; exit code. */
int look_failure_explain(pid_t pid, int r);
