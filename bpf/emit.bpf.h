/* SPDX-License-Identifier: GPL-2.0-only */
/* Events to userspace, in the one ring: what is news of a process. Never the accounting. */
#pragma once

#include "identity.bpf.h"
#include "maps.bpf.h"

/* An event about the process of a task, to be submitted; NULL: there was no room. detail: 0 where
 * the kind has none (events.h). */
static __always_inline struct event *event_begin(__u32 kind, __u64 life, struct task_struct *task,
						 __u64 detail)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count_loss(life, COUNTER_EVENTS_LOST);
		return NULL;
	}
	event->kind = kind;
	event->tgid = 0;
	event->parent_tgid = 0;
	event->ns_tgid = identity_ns_tgid(task);
	event->life = life;
	event->detail = detail;
	event->start_ticks = 0;
	event->ktime_ns = bpf_ktime_get_ns();
	/* All zero if it cannot be read. */
	(void)bpf_probe_read_kernel(event->comm, sizeof(event->comm), task->comm);
	return event;
}

static __always_inline void emit_event(__u32 kind, __u64 life, struct task_struct *task,
				       __u64 detail)
{
	struct event *event = event_begin(kind, life, task, detail);

	if (event)
		bpf_ringbuf_submit(event, 0);
}
