/* SPDX-License-Identifier: GPL-2.0-only */
/* Events to userspace, in the one ring: what is news of a process. Never the accounting. */
#pragma once

#include "identity.bpf.h"
#include "maps.bpf.h"

/* task: whom the event is about. parent_tgid, address: 0 where the kind has none (events.h). */
static __always_inline void emit_event(__u32 kind, __u32 tgid, __u32 parent_tgid,
				       struct task_struct *task, __u64 address)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count_loss(tgid, COUNTER_EVENTS_LOST);
		return;
	}
	event->kind = kind;
	event->tgid = tgid;
	event->parent_tgid = parent_tgid;
	event->ns_tgid = identity_ns_tgid(task);
	event->ktime_ns = bpf_ktime_get_ns();
	event->address = address;
	/* All zero if it cannot be read. */
	(void)bpf_probe_read_kernel(event->comm, sizeof(event->comm), task->comm);
	bpf_ringbuf_submit(event, 0);
}
