/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Task IDs. The kernel has one number for a task in each pid namespace that it is visible in: the
 * one in the observer's namespace is what /proc shows and users name, the one in the task's own is
 * what its program sees.
 */
#pragma once

#include "kernel_views.h"

#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include <correlator/life.h>

/* The observer's pid namespace, set by a test run in its own process; level 0 is the initial
 * one. */
__u64 observer_namespace;
__u32 observer_level;
/* bpf_ktime_get_ns() at that test run. */
__u64 observer_ktime_ns;
/* Offset of the observer's CLOCK_BOOTTIME from the machine's, by its time namespace. */
__s64 observer_boot_offset_ns;

static __always_inline struct upid identity_at(struct pid *pid, __u32 level)
{
	unsigned long numbers = (unsigned long)pid + bpf_core_field_offset(struct pid, numbers);
	struct upid number = {};

	/* All zero if it cannot be read. */
	(void)bpf_probe_read_kernel(&number, sizeof(number),
				    (const void *)(numbers + level * sizeof(number)));
	return number;
}

/* A pid's number in the observer's namespace; 0 = not visible there. */
static __always_inline __u32 identity_seen(struct pid *pid)
{
	struct upid number;

	if (BPF_CORE_READ(pid, level) < observer_level)
		return 0;
	number = identity_at(pid, observer_level);
	return (__u64)number.ns == observer_namespace ? (__u32)number.nr : 0;
}

static __always_inline __u32 identity_own(struct pid *pid)
{
	return (__u32)identity_at(pid, BPF_CORE_READ(pid, level)).nr;
}

/* The tgid as the observer sees it; 0 = not visible. */
static __always_inline __u32 identity_tgid(struct task_struct *task)
{
	if (!observer_level)
		return (__u32)task->tgid;
	return identity_seen(BPF_CORE_READ(task, group_leader, thread_pid));
}

/*
 * Start time of the task's process, in ticks, as in the observer's /proc/PID/stat (do_task_stat(),
 * fs/proc/array.c, v5.15 to v6.18).
 */
static __always_inline __u64 identity_start_ticks(struct task_struct *task)
{
	__u64 start_ns = BPF_CORE_READ(task, group_leader, start_boottime);

	return (start_ns + observer_boot_offset_ns) / LIFE_NS_PER_TICK;
}

static __always_inline __u32 identity_tid(struct task_struct *task)
{
	if (!observer_level)
		return (__u32)task->pid;
	return identity_seen(BPF_CORE_READ(task, thread_pid));
}

/* As the task sees itself: in the innermost namespace. */
static __always_inline __u32 identity_ns_tgid(struct task_struct *task)
{
	return identity_own(BPF_CORE_READ(task, group_leader, thread_pid));
}

static __always_inline __u32 identity_ns_tid(struct task_struct *task)
{
	return identity_own(BPF_CORE_READ(task, thread_pid));
}
