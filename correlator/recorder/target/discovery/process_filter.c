/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/discovery/process_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/limits.h>

#include "base/cleanup.h"

/* The kernel truncates comm, so a longer name would match no process. */
static char *copy_comm(const char *pattern)
{
	bool is_plain = !strpbrk(pattern, "*?[\\");

	return strndup(pattern, is_plain ? COMM_BYTES - 1 : strlen(pattern));
}

static char *copy_cgroup(const char *pattern)
{
	size_t length = strlen(pattern);

	while (length > 1 && pattern[length - 1] == '/')
		length--;
	return strndup(pattern, length);
}

int process_filter_init(const char *comm, const char *cgroup, struct process_filter *ret_filter)
{
	_cleanup_(process_filter_deinit) struct process_filter filter = { 0 };

	if (comm && !(filter.comm = copy_comm(comm)))
		return -ENOMEM;
	if (cgroup && !(filter.cgroup = copy_cgroup(cgroup)))
		return -ENOMEM;
	*ret_filter = filter;
	filter = (struct process_filter){ 0 };
	return 0;
}

void process_filter_deinit(struct process_filter *filter)
{
	free(filter->comm);
	free(filter->cgroup);
	*filter = (struct process_filter){ 0 };
}

bool process_filter_has_comm(const struct process_filter *filter, const char *comm)
{
	return !filter->comm || fnmatch(filter->comm, comm, 0) == 0;
}

static bool path_matches(const char *pattern, const char *path)
{
	const int flags = FNM_NOESCAPE | FNM_LEADING_DIR;

	if (strcmp(pattern, "/") == 0 || fnmatch(pattern, path, flags) == 0)
		return true;
	/*
	 * At later components: none begins with a slash, and a star matches everything before it.
	 */
	for (path = strchr(path, '/'); path; path = strchr(path + 1, '/'))
		if (fnmatch(pattern, path + 1, flags) == 0)
			return true;
	return false;
}

bool process_filter_has_cgroup(const struct process_filter *filter, const char *text)
{
	/* Suffix of a removed cgroup, kernel/cgroup/cgroup.c proc_cgroup_show(), v6.18. */
	static const char deleted_mark[] = " (deleted)";
	const size_t mark_bytes = sizeof(deleted_mark) - 1;

	if (!filter->cgroup)
		return true;
	for (const char *line = text; *line;) {
		size_t length = strcspn(line, "\n");
		_cleanup_free_ char *copy = strndup(line, length);
		char *path = copy ? strchr(copy, ':') : NULL;

		line += length + (line[length] == '\n');
		path = path ? strchr(path + 1, ':') : NULL;
		if (!path)
			continue;
		length = strlen(++path);
		if (length > mark_bytes && strcmp(path + length - mark_bytes, deleted_mark) == 0)
			path[length - mark_bytes] = '\0';
		if (path_matches(filter->cgroup, path))
			return true;
	}
	return false;
}
