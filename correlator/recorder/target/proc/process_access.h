/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the memory of a process may be read, and what to do where it may not. Any thread; keeps
 * nothing; does not log. Facts: ptrace(2), "Ptrace access mode checking" and "/proc/sys/kernel/
 * yama/ptrace_scope". /proc/PID/maps says less: since Linux 6.15 CAP_PERFMON is enough for it
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
 * Reads a byte of what the process has mapped. 0: that may be read, or there is nothing to read;
 * -EPERM: it may not; -ESRCH: it is gone.
 */
int process_access_check(pid_t pid, const struct memory_map *map);

/* Why it may not, and what it takes: half a sentence. */
void process_access_explain(pid_t pid, char ret_text[static PROCESS_ACCESS_TEXT_BYTES]);

/* Whether the caller may read all processes but for what a container or security module keeps:
 * CAP_SYS_PTRACE. */
bool process_access_is_general(void);

/* Why processes of others may not be read, behind a sentence that says so; "": what can be granted
 * is. */
static inline const char *process_access_lacks(void)
{
	if (!process_access_is_general())
		return ": that takes CAP_SYS_PTRACE";
	return rights_reach_others()
		       ? ""
		       : ": those of others are for root, and members of the group " RIGHTS_GROUP;
}
