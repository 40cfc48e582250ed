/* SPDX-License-Identifier: GPL-2.0-only */
#include "target/proc/living_thread.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "target/proc/proc_file.h"

enum {
	STAT_BYTES = 1024,
};

/* The state of a process or thread, or 0. */
static char state_of(pid_t pid, long *ret_thread_count)
{
	char text[STAT_BYTES], state;
	const char *comm_end;

	if (proc_file_read_head(pid, "stat", text, sizeof(text)) < 0)
		return 0;
	comm_end = strrchr(text, ')');
	return comm_end && sscanf(comm_end + 1,
				  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
				  "%*d %ld",
				  &state, ret_thread_count) == 2
		       ? state
		       : 0;
}

pid_t living_thread_of(pid_t pid)
{
	_cleanup_free_ pid_t *tids = NULL;
	long thread_count;
	char path[64];
	size_t count;

	if (state_of(pid, &thread_count) != 'Z' || thread_count <= 1)
		return pid;
	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (proc_file_list_ids(path, &tids, &count) < 0)
		return pid;
	for (size_t i = 0; i < count; i++) {
		char state = state_of(tids[i], &thread_count);

		if (state && !strchr("ZX", state))
			return tids[i];
	}
	return pid;
}
