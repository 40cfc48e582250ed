/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/proc/living_thread.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/rights.h"
#include "recorder/target/proc/proc_file.h"

enum {
	STAT_BYTES = 1024,
	THREADS_MAX = 64, /* searched at most: a process may have 30,000 */
};

DEFINE_CLEANUP(DIR *, closedir);

/* State of thread tid of process pid, or 0. */
static char state_of(pid_t pid, pid_t tid, long *ret_thread_count)
{
	char name[32], text[STAT_BYTES], state;
	const char *comm_end;

	(void)snprintf(name, sizeof(name), "task/%d/stat", tid);
	if (proc_file_read_head(pid, name, text, sizeof(text)) < 0)
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
	_cleanup_(closedirp) DIR *folder = NULL;
	const struct dirent *entry;
	long thread_count;
	char path[32];

	if (state_of(pid, pid, &thread_count) != 'Z' || thread_count <= 1 || !rights_reach_others())
		return pid;
	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	for (int i = 0; folder && i < THREADS_MAX && (entry = readdir(folder)); i++) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		char state = tid > 0 ? state_of(pid, tid, &thread_count) : 0;

		if (state && !strchr("ZX", state))
			return tid;
	}
	return pid;
}
