/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timeline (correlator/timeline.h): sends each interval of a thread's books through a ring of
 * its own. Without --timeline none of this is loaded: session.has_timeline is a constant 0 then.
 *
 * The ring's reader is not woken, because the run queue may be locked here: userspace polls often
 * enough. The caller holds the thread.
 */
#pragma once

#include "hold.bpf.h"

static __always_inline int timeline_output(struct thread_state *thread)
{
	struct stint *stint = &thread->timeline.stint;
	/* Before 6.2 a key that is a field of a global function's argument is refused. */
	__u64 life = thread->life;
	struct process_books *process;

	stint->thread_serial = thread->serial;
	stint->life = life;
	stint->tid = thread->tid;
	stint->ns_tid = thread->ns_tid;
	if (bpf_ringbuf_output(&stints, stint, sizeof(*stint), BPF_RB_NO_WAKEUP)) {
		process = bpf_map_lookup_elem(&books, &life);
		if (process)
			__sync_fetch_and_add(&process->losses[COUNTER_SLICE_LOST],
					     stint_losses(stint));
	}
	return 0;
}

/* Sends the stint that was cut, if there is one. */
static __noinline int timeline_send(struct thread_state *thread)
{
	if (!thread->timeline.is_cut)
		return 0;
	(void)timeline_output(thread);
	timeline_sent(&thread->timeline);
	return 0;
}

/* Sends what is pending; it stays pending. */
static __noinline int timeline_tell_pending(struct thread_state *thread)
{
	timeline_cut(&thread->timeline, &thread->clock, &thread->pending,
		     bpf_get_smp_processor_id());
	return timeline_send(thread);
}

static __always_inline void timeline_tell(struct thread_state *thread)
{
	if (session.has_timeline)
		(void)timeline_tell_pending(thread);
}

/*
 * Cuts a stint of what was charged, before it is reset. The stint is sent afterwards, where less
 * stack is in use.
 */
static __noinline int timeline_note_charge(struct thread_state *thread, __u64 context_hash,
					   __u32 flags)
{
	timeline_cut(&thread->timeline, &thread->clock, &thread->pending,
		     bpf_get_smp_processor_id());
	timeline_charge(&thread->timeline, context_hash, thread->epoch, flags);
	return 0;
}

/* Reports that taken_ns was taken back from an account of this window. */
static __noinline int timeline_tell_taken(struct thread_state *thread, __u64 context_hash,
					  __u64 taken_ns)
{
	timeline_take_back(&thread->timeline, context_hash, thread->epoch, taken_ns);
	return timeline_output(thread);
}
