/* SPDX-License-Identifier: GPL-2.0-only */
/* Events to userspace, in a single ring: changes of a process. Never the accounting. */
#pragma once

#include "identity.bpf.h"
#include "maps.bpf.h"

/* Reserves an event about the process of a task, which the caller submits; NULL = the ring is
 * full. detail: 0 if the kind has none (events.h). */
static __always_inline struct event *event_begin(__u32 kind, __u64 life, __u32 tgid,
						 struct task_struct *task, __u64 detail)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count_loss(life, COUNTER_EVENTS_LOST);
		return NULL;
	}
	event->kind = kind;
	event->tgid = tgid;
	event->parent_tgid = 0;
	event->ns_tgid = identity_ns_tgid(task);
	event->life = life;
	event->detail = detail;
	/* When the last thread of a process exits, its leader's task may be freed. */
	event->start_ticks = kind == EVENT_KIND_EXIT ? 0 : identity_start_ticks(task);
	event->ktime_ns = bpf_ktime_get_ns();
	/* All zero if it cannot be read. */
	(void)bpf_probe_read_kernel(event->comm, sizeof(event->comm), task->comm);
	return event;
}

static __always_inline void emit_event(__u32 kind, const struct thread_state *thread,
				       struct task_struct *task, __u64 detail)
{
	struct event *event = event_begin(kind, thread->life, thread->tgid, task, detail);

	if (event)
		bpf_ringbuf_submit(event, 0);
}
