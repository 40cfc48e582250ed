/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes that are not observed: a search is told of what may make one worth a look, so that it
 * need not go over all of them again and again. In a ring of their own: a storm of execs takes no
 * room from the events of those that are observed, and wakes nobody more often than
 * STRANGERS_PAUSE_NS. What finds no room is made good by a look at all of them.
 */
#pragma once

#include "identity.bpf.h"
#include "maps.bpf.h"

/* By pid, those whose forks and libraries are news as well: written by userspace, and by a fork. */
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

/* How often there was no room. */
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

/* It runs another program: watched no more until that was looked at. */
static __noinline int stranger_executed(struct task_struct *task)
{
	__u32 tgid = session.tells_strangers ? identity_tgid(task) : 0;

	if (!tgid)
		return 0;
	bpf_map_delete_elem(&watched, &tgid);
	stranger_tell(tgid);
	return 0;
}

/* It may have a name by now that is wanted. An exec renames, too. */
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

/* A child that is not observed though its parent is, or whose parent is watched. */
static __noinline int stranger_born(struct task_struct *child)
{
	__u32 value = 1, tgid = session.tells_strangers ? identity_tgid(child) : 0;

	if (!tgid)
		return 0;
	bpf_map_update_elem(&watched, &tgid, &value, BPF_ANY);
	stranger_tell(tgid);
	return 0;
}

/* The current process, not an observed one, made a task. What it runs, that runs as well. */
static __noinline int stranger_forked(struct task_struct *child)
{
	__u32 tgid;

	if (!session.tells_strangers || child->tgid != child->pid)
		return 0;
	tgid = identity_tgid(bpf_get_current_task_btf());
	return bpf_map_lookup_elem(&watched, &tgid) ? stranger_born(child) : 0;
}

/* The current process's loader is at work. */
static __noinline int stranger_loads(struct task_struct *task)
{
	__u32 tgid = session.tells_strangers ? identity_tgid(task) : 0;

	if (tgid && bpf_map_lookup_elem(&watched, &tgid))
		stranger_tell(tgid);
	return 0;
}
