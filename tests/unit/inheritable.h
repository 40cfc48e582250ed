/* SPDX-License-Identifier: GPL-2.0-only */
/* What a program that we start would get from us: `-- COMMAND` is to have nothing of ours open. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>

/* How many descriptors are open that exec(2) would leave open. */
static inline unsigned int count_inheritable(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int count = 0;
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		int flags =
			entry->d_name[0] == '.' ? FD_CLOEXEC : fcntl(atoi(entry->d_name), F_GETFD);

		count += flags >= 0 && !(flags & FD_CLOEXEC);
	}
	if (folder)
		(void)closedir(folder);
	return count;
}
