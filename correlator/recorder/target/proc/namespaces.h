/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The namespaces of a process, as /proc/PID/ns shows them. Any thread; nothing is kept open; only
 * namespaces_check_own_proc logs. Facts: namespaces(7), include/linux/proc_ns.h (v3.8).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum namespace_kind {
	NAMESPACE_PID = 0,
	NAMESPACE_MOUNT = 1,
	NAMESPACE_USER = 2,
	_NAMESPACE_KIND_MAX,
};

enum {
	NAMESPACES_TEXT_BYTES = 64
};

struct namespaces {
	uint64_t inodes[_NAMESPACE_KIND_MAX]; /* by enum namespace_kind; 0 = not visible to us */
};

/* 0, -ESRCH (no such process). */
int namespaces_read(pid_t pid, struct namespaces *ret_namespaces);

/* True if that namespace is the one the machine booted with. */
bool namespaces_is_initial(const struct namespaces *namespaces, enum namespace_kind kind);

/* "pid, mount, user": the kinds that are known to differ; "" = none. */
void namespaces_differences(const struct namespaces *a, const struct namespaces *b,
			    char ret_text[static NAMESPACES_TEXT_BYTES]);

/*
 * /proc must show the pids of our own pid namespace: system calls and the kernel programs report
 * those. 0, or -ENOTSUP (logged, with the remedy).
 */
int namespaces_check_own_proc(void);
