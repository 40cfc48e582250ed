/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unobserved processes: reports events that may make one worth inspecting, so userspace's search
 * need not scan all of them repeatedly. They have a ring of their own: a storm of execs takes no
 * space from the events of observed processes, and wakes userspace at most once per
 * STRANGERS_PAUSE_NS. If events do not fit, the search scans all processes.
 */
#pragma once

#include "identity.bpf.h"
#include "maps.bpf.h"

/* By pid: processes whose forks and libraries are reported as well. Written by userspace, and by
 * a fork. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} watched SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, STRANGERS_RING_BYTES);
} strangers SEC(".maps");

/* Number of events that did not fit. */
volatile __u32 strangers_lost;
/* When userspace was last woken up: it reads again STRANGERS_PAUSE_NS later by itself. */
volatile __u64 strangers_woken_ns;

static __always_inline void stranger_tell(__u32 tgid)
{
	struct event *event = bpf_ringbuf_reserve(&strangers, sizeof(*event), 0);
	__u64 now_ns = bpf_ktime_get_ns();
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (!event) {
		(void)__sync_fetch_and_add(&strangers_lost, 1);
		return;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->kind = EVENT_KIND_STRANGER;
	event->tgid = tgid;
	event->ktime_ns = now_ns;
	if (now_ns - strangers_woken_ns >= STRANGERS_PAUSE_NS) {
		strangers_woken_ns = now_ns;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	bpf_ringbuf_submit(event, flags);
}

/* The process runs another program: no longer watched until userspace has inspected that. */
static __noinline int stranger_executed(struct task_struct *task)
{
	__u32 tgid = session.tells_strangers ? identity_tgid(task) : 0;

	if (!tgid)
		return 0;
	bpf_map_delete_elem(&watched, &tgid);
	stranger_tell(tgid);
	return 0;
}

/* The process may now have a wanted name. An exec renames, too. */
static __noinline int stranger_renamed(struct task_struct *task)
{
	__u32 tgid;

	if (session.tells_strangers != STRANGERS_BY_NAME || task->tgid != task->pid)
		return 0;
	tgid = identity_tgid(task);
	if (tgid)
		stranger_tell(tgid);
	return 0;
}

/* Reports and watches a child that is not observed although its parent is, or whose parent is
 * watched. */
static __noinline int stranger_born(struct task_struct *child)
{
	__u32 value = 1, tgid = session.tells_strangers ? identity_tgid(child) : 0;

	if (!tgid)
		return 0;
	bpf_map_update_elem(&watched, &tgid, &value, BPF_ANY);
	stranger_tell(tgid);
	return 0;
}

/* The current process, which is not observed, made a task. A child runs the same program. */
static __noinline int stranger_forked(struct task_struct *child)
{
	__u32 tgid;

	if (!session.tells_strangers || child->tgid != child->pid)
		return 0;
	tgid = identity_tgid(bpf_get_current_task_btf());
	return bpf_map_lookup_elem(&watched, &tgid) ? stranger_born(child) : 0;
}

/* The current process's dynamic loader is at work. */
static __noinline int stranger_loads(struct task_struct *task)
{
	__u32 tgid = session.tells_strangers ? identity_tgid(task) : 0;

	if (tgid && bpf_map_lookup_elem(&watched, &tgid))
		stranger_tell(tgid);
	return 0;
}
