/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the counters that our gem keeps of the Ruby thread that runs here, at boundaries that read
 * the context anyway: its waits for the GVL (correlator/gvl_wait.h) and its garbage collections
 * (correlator/gc_time.h).
 *
 * Runs only on the thread itself, before what is pending may be charged to a context that ends.
 */
#pragma once

#include "charge.bpf.h"
#include "hold.bpf.h"

static __always_inline bool counters_are_known(const struct thread_state *thread)
{
	return thread->gvl.serial | thread->gc.serial;
}

/* Reads the counters at address. Sets version to 0 if they are unreadable; it is also 0 if they
 * belong to no thread at present. */
static __noinline int counters_fetch(struct thread_state *thread, __u64 address)
{
	struct gem_thread *counters = &thread->counters;

	if (!table_pointer_is_sane(address) ||
	    bpf_probe_read_user(counters, GEM_THREAD_LEAST_BYTES, (void *)address))
		counters->version = 0;
	else if (counters->flags & GEM_THREAD_TIMES_GC &&
		 bpf_probe_read_user(&counters->gc_time, sizeof(*counters) - GEM_THREAD_LEAST_BYTES,
				     (void *)(address + GEM_THREAD_LEAST_BYTES)))
		counters->version = 0;
	if (!counters->version)
		counters->flags = 0;
	return 0;
}

static __always_inline void counters_take_gc(struct thread_state *thread, __u64 now_ns)
{
	__u64 open_ns = account_growth(now_ns, thread->clock.mark_ns);

	if (gc_time_take(&thread->gc, &thread->counters, &thread->pending, now_ns, open_ns))
		count_loss(thread->life, COUNTER_GC_IMPLAUSIBLE);
}

/*
 * Another Ruby thread, or none, now runs on this native thread (M:N, or the last one has ended).
 * Reads the GC time of the last one from its old address, unless that belongs to another thread
 * now.
 */
static __noinline int counters_leave(struct thread_state *thread, __u64 address, __u64 now_ns)
{
	(void)counters_fetch(thread, address);
	if (thread->counters.flags & GEM_THREAD_TIMES_GC &&
	    thread->counters.serial == thread->gc.serial)
		counters_take_gc(thread, now_ns);
	return 0;
}

/* Reads the counters of the current thread, whose thread-local is resolved. */
VERIFIED_ONCE int counters_read(struct thread_state *thread, __u64 now_ns)
{
	__u64 address, last;

	if (!thread)
		return 0;
	last = thread->counters_address;
	address = thread->tls_address + (__u64)thread->config.thread_offset;
	if (bpf_probe_read_user(&thread->counters_address, sizeof(thread->counters_address),
				(void *)address))
		return 0;
	thread->counters_address = compat_untag(thread->counters_address);
	if (thread->gc.serial && last != thread->counters_address)
		(void)counters_leave(thread, last, now_ns);
	if (thread->counters_address) {
		(void)counters_fetch(thread, thread->counters_address);
		if (!(thread->counters.flags & (GEM_THREAD_COUNTS_GVL | GEM_THREAD_TIMES_GC)))
			thread->counters_asked = current_epoch + 1;
	} else {
		thread->counters.flags = 0;
	}
	if (!(thread->counters.flags & GEM_THREAD_COUNTS_GVL))
		gvl_wait_none(&thread->gvl, &thread->pending, now_ns);
	else if (gvl_wait_take(&thread->gvl, &thread->counters, &thread->pending, now_ns))
		count_loss(thread->life, COUNTER_GVL_IMPLAUSIBLE);
	if (thread->counters.flags & GEM_THREAD_TIMES_GC)
		counters_take_gc(thread, now_ns);
	else
		gc_time_none(&thread->gc);
	if (thread->pending.gvl_waits || thread->pending.gvl_ns)
		charge_note_pending(thread, thread->clock.mark_ns);
	return 0;
}

VERIFIED_ONCE int counters_look_now(struct thread_state *thread, __u64 now_ns, __u32 is_end)
{
	if (!thread || !(thread->config.flags & PROCESS_HAS_THREADS) || thread->is_exiting ||
	    !thread_has_memory(thread))
		return 0;
	if (is_end || (thread->gvl.serial && gvl_wait_claimable(&thread->gvl, &thread->pending)))
		(void)counters_read(thread, now_ns);
	return 0;
}

/* A wait of the current thread is over: notes how much of it was for the GVL, if it was long, by
 * counters whose growth is still to be taken. */
static __always_inline void counters_note_stall(struct thread_state *thread)
{
	struct stall_watch *watch = &thread->stall;

	if (!thread->gvl.serial || thread->is_exiting || !thread_has_memory(thread) ||
	    !watch->entered_ns || !stall_is_long(watch, watch->entered_ns, session.stall_least_ns))
		return;
	(void)counters_fetch(thread, thread->counters_address);
	if (thread->counters.flags & GEM_THREAD_COUNTS_GVL)
		watch->gvl_ns += gvl_wait_within(&thread->gvl, &thread->counters, watch->left_ns,
						 watch->entered_ns);
}

VERIFIED_ONCE int counters_claim_now(struct thread_state *thread)
{
	if (thread)
		gc_time_claim(&thread->gc, &thread->pending);
	return 0;
}

/*
 * Call at a boundary of the running thread, after the time off the CPU before it was added to what
 * is pending, and before any of that is charged to a context that ends. is_end: a context may end
 * here, or the thread leaves its CPU; otherwise reads only if a GVL wait can claim time.
 */
static __always_inline void counters_look(struct thread_state *thread, __u64 now_ns, bool is_end)
{
	if (counters_are_known(thread))
		(void)counters_look_now(thread, now_ns, is_end);
}

/* Call at the end of the boundary, when the interval is part of what is pending. */
static __always_inline void counters_claim(struct thread_state *thread)
{
	if (thread->gc.unclaimed_ns | thread->gc.unclaimed_runs)
		(void)counters_claim_now(thread);
}

/* Call at a boundary that has read the context: checks whether counters are kept if none are
 * known yet. A thread that has counters but does not count is checked once a window. */
static __always_inline void counters_find(struct thread_state *thread, __u64 now_ns)
{
	if (counters_are_known(thread) || !(thread->config.flags & PROCESS_HAS_THREADS))
		return;
	if (thread->tls_resolution != TLS_RESOLVED) {
		gvl_wait_none(&thread->gvl, &thread->pending, now_ns);
		gc_time_none(&thread->gc);
	} else if (thread->counters_asked != current_epoch + 1) {
		(void)counters_read(thread, now_ns);
	}
}
