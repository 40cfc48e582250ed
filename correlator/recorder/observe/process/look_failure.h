/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a process that was named cannot be inspected, in the words of `record` and of `doctor`. */
#pragma once

#include <sys/types.h>

/* r: -errno of target_open() or target_refresh(). Logs the cause and what to do; exit code. */
int look_failure_explain(pid_t pid, int r);
