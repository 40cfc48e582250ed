/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the memory of a process may be read, and what to do where it may not. Any thread; keeps
 * nothing; does not log. Facts: ptrace(2), "Ptrace access mode checking" and "/proc/sys/kernel/
 * yama/ptrace_scope". /proc/PID/maps proves less: since Linux 6.15 CAP_PERFMON is enough for it
 * (may_access_mm(), kernel/fork.c).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/rights.h"
#include "recorder/target/proc/memory_map.h"

enum {
	PROCESS_ACCESS_TEXT_BYTES = 160
};

/*
 * Reads one mapped byte of the process. 0: it may be read, or there is nothing to read; -EPERM: it
 * may not; -ESRCH: the process is gone.
 */
int process_access_check(pid_t pid, const struct memory_map *map);

/* Why the process may not be read, and what that takes: half a sentence. */
void process_access_explain(pid_t pid, char ret_text[static PROCESS_ACCESS_TEXT_BYTES]);

/*
 * True if the caller has CAP_SYS_PTRACE: it may read all processes except where a container or
 * security module forbids it.
 */
bool process_access_is_general(void);

/*
 * Why processes of others may not be read, to append to a sentence that says so; "" = the caller
 * has all rights that can be granted.
 */
static inline const char *process_access_lacks(void)
{
	if (!process_access_is_general())
		return ": that takes CAP_SYS_PTRACE";
	return rights_reach_others()
		       ? ""
		       : ": those of others are for root, and members of the group " RIGHTS_GROUP;
}
