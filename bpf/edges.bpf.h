/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The short way of a system call's edge. While a thread stays in one context on one CPU its edges
 * change nothing but a few sums, and these are kept in a slot of that CPU: found without task
 * storage, which takes several calls, and each call is dear where returns are mitigated (20 ns on
 * an AMD EPYC). The slot is armed at an edge that went the long way, and folded into the thread's
 * books at the thread's next boundary of any other kind.
 *
 * A slot is recognised by the address of the thread's saved registers, at the top of its kernel
 * stack, which no other living task has; that of a dead one is told by `registrations`.
 * So are thread IDs, by which tasks that are not observed are passed over at a switch.
 */
#pragma once

#include "hold.bpf.h"
#include "identity.bpf.h"

#include <correlator/edge_slot.h>

enum edge_way {
	EDGE_LONG = 0, /* look the thread up */
	EDGE_DONE = 1,
};

static __always_inline struct edge_slot *edge_slot_here(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&edge_slots, &key);
}

static __always_inline bool edge_slot_is_of_unobserved(const struct edge_slot *slot,
						       __u64 registers)
{
	return slot->unobserved_registers == registers && slot->registrations == registrations;
}

/*
 * An edge of the task whose saved registers these are. is_entry: into the kernel. What is on this
 * CPU is taken without atomic operations: only this CPU's own interrupts can come in between, and
 * they see is_busy.
 */
static __always_inline enum edge_way edge_pass(struct edge_slot *slot, __u64 registers,
					       bool is_entry)
{
	if (slot->registrations != registrations || is_stopped)
		return EDGE_LONG;
	if (slot->registers != registers)
		return slot->unobserved_registers == registers ? EDGE_DONE : EDGE_LONG;
	*(volatile __u32 *)&slot->is_busy = 1;
	barrier();
	account_edges_pass(&slot->times, bpf_ktime_get_ns(),
			   is_entry ? THREAD_MODE_KERNEL : THREAD_MODE_USER);
	if (is_entry)
		slot->times.syscalls++;
	barrier();
	*(volatile __u32 *)&slot->is_busy = 0;
	return EDGE_DONE;
}

/* That a task has no storage does not say it alone everywhere. */
static __always_inline bool edge_is_unobserved(struct task_struct *task)
{
	__u32 tgid;

	if (compat_storage_lookup_is_sure())
		return true;
	tgid = identity_tgid(task);
	return !bpf_map_lookup_elem(&processes, &tgid);
}

/* What was remembered is forgotten when threads came to be observed since. */
static __always_inline void edge_slot_renew(struct edge_slot *slot, __u32 seen_registrations)
{
	if (slot->registrations == seen_registrations)
		return;
	slot->registers = 0;
	slot->unobserved_registers = 0;
	for (__u32 i = 0; i < EDGE_UNOBSERVED_TIDS; i++)
		slot->unobserved_tids[i] = 0;
	slot->registrations = seen_registrations;
}

/* thread_find() for a switch on this CPU, which mostly is between tasks that are not observed. */
static __always_inline struct thread_state *edge_find_switching(struct edge_slot *slot,
								struct task_struct *task)
{
	__u32 tid = task->pid;
	__u32 place = tid & (EDGE_UNOBSERVED_TIDS - 1);
	__u32 seen_registrations = registrations;
	struct thread_state *thread;

	/* The idle task is nobody's. */
	if (!tid)
		return NULL;
	if (!slot)
		return thread_find(task);
	if (slot->registrations == seen_registrations && slot->unobserved_tids[place] == tid)
		return NULL;
	thread = thread_find(task);
	if (!thread && !slot->is_busy && edge_is_unobserved(task)) {
		edge_slot_renew(slot, seen_registrations);
		slot->unobserved_tids[place] = tid;
	}
	return thread;
}

/*
 * The long way: the state of the task whose saved registers these are; NULL = it is not observed,
 * and remembered so. *ret_seen_registrations: `registrations` from before it was looked up, for
 * edge_arm().
 */
static __always_inline struct thread_state *edge_find_thread(struct edge_slot *slot,
							     struct task_struct *task,
							     __u64 registers,
							     __u32 *ret_seen_registrations)
{
	__u32 seen_registrations = registrations;
	struct thread_state *thread = thread_find(task);

	*ret_seen_registrations = seen_registrations;
	if (thread || slot->is_busy || !edge_is_unobserved(task))
		return thread;
	edge_slot_renew(slot, seen_registrations);
	slot->unobserved_registers = registers;
	return NULL;
}

/*
 * From here on the edges of this thread, which runs and holds its books, go the short way; not when
 * a change of context is open, or a gap still to be taken out.
 */
static __always_inline void edge_arm(struct edge_slot *slot, struct thread_state *thread,
				     __u64 registers, __u32 seen_registrations)
{
	if (is_lean || slot->is_busy || thread->is_change_open || thread->missed_out_ns ||
	    thread->missed_gap_ns || thread->knowledge == CONTEXT_KNOWN_TILL_IT_RUNS)
		return;
	edge_slot_renew(slot, seen_registrations);
	account_edges_open(&slot->times, &thread->clock);
	slot->serial = thread->serial;
	slot->registers = registers;
	thread->armed_cpu = bpf_get_smp_processor_id() + 1;
}

/* Its edges go the long way again; what is in the slot stays there for edge_fold(). */
static __always_inline void edge_disarm(const struct thread_state *thread)
{
	struct edge_slot *slot = edge_slot_here();

	if (slot && slot->serial == thread->serial)
		slot->registers = 0;
}

static __always_inline struct edge_slot *edge_slot_of(const struct thread_state *thread)
{
	__u32 cpu = thread->armed_cpu - 1;
	__u32 key = 0;

	if (cpu == bpf_get_smp_processor_id())
		return edge_slot_here();
	/* It left that CPU unseen. Since 5.19; without, the split of that stretch is lost. */
	if (!compat_has_percpu_lookup())
		return NULL;
	return bpf_map_lookup_percpu_elem(&edge_slots, &key, cpu);
}

/* See edge_fold(). */
VERIFIED_ONCE int edge_fold_slot(struct thread_state *thread)
{
	struct edge_slot *slot;

	if (!thread)
		return 0;
	slot = edge_slot_of(thread);
	if (slot && slot->serial == thread->serial) {
		if (slot->is_busy)
			return 0;
		slot->registers = 0;
		account_edges_fold(&slot->times, &thread->clock, &thread->pending);
		slot->serial = 0;
	}
	thread->armed_cpu = 0;
	return 1;
}

/*
 * Brings what a slot has of this thread into its books, which the caller holds. False: the slot is
 * in the middle of an edge.
 */
static __always_inline bool edge_fold(struct thread_state *thread)
{
	return !thread->armed_cpu || edge_fold_slot(thread);
}
