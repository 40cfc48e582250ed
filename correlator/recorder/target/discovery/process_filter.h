/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Selects processes by name and by cgroup. Any thread; holds nothing but its copies; does not log.
 * Facts: cgroups(7), fnmatch(3).
 */
#pragma once

#include <stdbool.h>

/* NULL = any; both must match. Zeroed: all processes. */
struct process_filter {
	char *comm;
	char *cgroup;
};

/*
 * comm: an fnmatch(3) pattern; plain text is cut to the 15 bytes that the kernel keeps of a name.
 * cgroup: see process_filter_has_cgroup. Both are copied; NULL = any. 0 or -ENOMEM.
 */
int process_filter_init(const char *comm, const char *cgroup, struct process_filter *ret_filter);
/* Accepts a zeroed filter. */
void process_filter_deinit(struct process_filter *filter);

bool process_filter_has_comm(const struct process_filter *filter, const char *comm);

/*
 * True if a line of text, in the format of /proc/PID/cgroup (v1 and v2, cgroups(7)), names the
 * pattern's cgroup or one below it. The pattern is an fnmatch(3) one in which `*` matches slashes
 * and a backslash is literal (systemd escapes names with it); without a leading slash it may begin
 * at any component. Without memory to copy a line, that line does not match.
 */
bool process_filter_has_cgroup(const struct process_filter *filter, const char *text);
