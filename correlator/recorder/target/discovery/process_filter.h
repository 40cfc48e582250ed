/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which processes are wanted, by name and by cgroup. Any thread; holds nothing but its copies; does
 * not log. Facts: cgroups(7), fnmatch(3).
 */
#pragma once

#include <stdbool.h>

/* NULL = any; both must hold. Zeroed: all processes. */
struct process_filter {
	char *comm;
	char *cgroup;
};

/*
 * comm: an fnmatch(3) pattern; plain text is cut to the 15 bytes that the kernel keeps of a name.
 * cgroup: as process_filter_has_cgroup has it. Both are copied; NULL = any. 0 or -ENOMEM.
 */
int process_filter_init(const char *comm, const char *cgroup, struct process_filter *ret_filter);
/* Accepts a zeroed filter. */
void process_filter_deinit(struct process_filter *filter);

bool process_filter_has_comm(const struct process_filter *filter, const char *comm);

/*
 * True if a line of text, as /proc/PID/cgroup gives it (v1 and v2, cgroups(7)), is of the cgroup
 * that the pattern names or of one below it. The pattern is an fnmatch(3) one in which `*` crosses
 * slashes and a backslash is itself (systemd escapes names with it); without a slash in front it
 * may begin at any component. No memory for a copy of the line: it does not fit.
 */
bool process_filter_has_cgroup(const struct process_filter *filter, const char *text);
