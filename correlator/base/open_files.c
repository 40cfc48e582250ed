/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/open_files.h"

#include <stdbool.h>
#include <sys/resource.h>

/* Static because the limit is per process, too. */
static struct rlimit given;
static bool is_known;

void open_files_raise(void)
{
	struct rlimit raised;

	if (!is_known && getrlimit(RLIMIT_NOFILE, &given) < 0)
		return;
	is_known = true;
	raised = given;
	if (raised.rlim_cur >= OPEN_FILES_MAX)
		return;
	raised.rlim_cur = given.rlim_max < OPEN_FILES_MAX ? given.rlim_max : OPEN_FILES_MAX;
	(void)setrlimit(RLIMIT_NOFILE, &raised);
}

void open_files_restore(void)
{
	if (is_known)
		(void)setrlimit(RLIMIT_NOFILE, &given);
}
