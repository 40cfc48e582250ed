/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fast path of a system call's edge. While a thread stays in one context on one CPU, its edges
 * only change a few sums. These are kept in a slot of that CPU, found without task storage: that
 * takes several calls, and each call is expensive where returns are mitigated (20 ns on an AMD
 * EPYC). An edge on the slow path arms the slot; the thread's next boundary of any other kind folds
 * it into its books.
 *
 * A slot is identified by the address of the thread's saved registers, at the top of its kernel
 * stack, which no other living task has; a change of `registrations` marks a dead task's as stale.
 * The same goes for the addresses of unobserved tasks, which are skipped at a switch. Tids would
 * not do: a tid may be reused before its old task has left its CPU for the last time.
 */
#pragma once

#include "hold.bpf.h"
#include "identity.bpf.h"
#include "variable.bpf.h"

#include <correlator/edge_slot.h>

enum {
	/* How long a slot is kept for a thread that was interrupted before folding it; a dead
	 * one never will. */
	EDGE_KEPT_NS = 1000 * 1000 * 1000
};

enum edge_way {
	EDGE_LONG = 0, /* slow path: look the thread up */
	EDGE_DONE = 1,
};

static __always_inline struct edge_slot *edge_slot_here(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&edge_slots, &key);
}

/*
 * A slot has one holder at a time, like the books: an edge may be interrupted on its CPU, or by
 * another task where programs are preempted, or race with the folding for a thread that left that
 * CPU unseen. Values read before the slot was taken may have changed since.
 */
static __always_inline bool edge_slot_try_take(struct edge_slot *slot)
{
	return __sync_val_compare_and_swap(&slot->is_busy, 0, 1) == 0;
}

static __always_inline void edge_slot_release(struct edge_slot *slot)
{
	compat_store_release_zero(&slot->is_busy);
}

static __always_inline __u64 edge_slot_registers(const struct edge_slot *slot)
{
	return *(const volatile __u64 *)&slot->registers;
}

static __always_inline bool edge_remembers(const __u64 *addresses, __u64 address)
{
	for (__u32 i = 0; i < EDGE_UNOBSERVED_TASKS; i++)
		if (addresses[i] == address)
			return true;
	return false;
}

/* At an entry into the kernel: whether the context is surely the one before. */
static __always_inline bool edge_watch_holds(const struct edge_watch *watch)
{
	struct variable_words read;

	return watch->generation == generation &&
	       variable_read(watch->address, watch->changes_words, &read) &&
	       read.pointer == watch->pointer && read.changes == watch->changes;
}

/*
 * Charges the time up to an edge (the begin or the end of a system call) of the task with these
 * saved registers to the slot. is_entry: the task enters the kernel. needs_books: not if it is an
 * edge of an observed task. The clock is read before the slot is taken: a program that interrupts
 * in between folds the slot into the books, and the registers do not match any more.
 */
static __always_inline enum edge_way edge_pass(struct edge_slot *slot, __u64 registers,
					       bool is_entry, bool needs_books)
{
	enum edge_way way = EDGE_LONG;
	__u64 now_ns;

	if (slot->registrations != registrations)
		return EDGE_LONG;
	if (edge_slot_registers(slot) != registers)
		return edge_remembers(slot->unobserved_registers, registers) ? EDGE_DONE
									     : EDGE_LONG;
	if (needs_books)
		return EDGE_LONG;
	if (is_entry && slot->watch.address && !edge_watch_holds(&slot->watch))
		return EDGE_LONG;
	now_ns = bpf_ktime_get_ns();
	if (!edge_slot_try_take(slot))
		return EDGE_LONG;
	if (edge_slot_registers(slot) == registers) {
		account_edges_pass(&slot->times, now_ns,
				   is_entry ? THREAD_MODE_KERNEL : THREAD_MODE_USER);
		if (is_entry)
			slot->times.syscalls++;
		if (is_entry && slot->watch.address) {
			slot->watch.sure_ns = slot->times.user_ns + slot->times.kernel_ns;
			slot->watch.is_read = 1;
		}
		way = EDGE_DONE;
	}
	edge_slot_release(slot);
	return way;
}

/* On some kernels missing storage alone does not prove that a task is unobserved. */
static __always_inline bool edge_is_unobserved(struct task_struct *task)
{
	__u32 tgid;

	if (compat_storage_lookup_is_sure())
		return true;
	tgid = identity_tgid(task);
	return !bpf_map_lookup_elem(&lives, &tgid);
}

/* Forgets remembered addresses if threads were registered since. The caller holds the slot. */
static __always_inline void edge_slot_renew(struct edge_slot *slot, __u32 seen_registrations)
{
	if (slot->registrations == seen_registrations)
		return;
	slot->registers = 0;
	for (__u32 i = 0; i < EDGE_UNOBSERVED_TASKS; i++) {
		slot->unobserved_registers[i] = 0;
		slot->unobserved_tasks[i] = 0;
	}
	slot->registrations = seen_registrations;
}

/*
 * Whether a task at a switch on this CPU is remembered as not observed, or is the idle task, which
 * never is. Most are: asked first of both, this keeps a switch of others to a few cache lines of
 * code and data.
 */
static __always_inline bool edge_knows_unobserved(const struct edge_slot *slot,
						  const struct task_struct *task)
{
	return (slot && slot->registrations == registrations &&
		edge_remembers(slot->unobserved_tasks, (__u64)task)) ||
	       !task->pid;
}

/* thread_find() for a switch on this CPU, of a task that is not known. */
static __always_inline struct thread_state *edge_find_switching(struct edge_slot *slot,
								struct task_struct *task)
{
	__u32 seen_registrations = registrations;
	struct thread_state *thread;

	thread = thread_find(task);
	if (!slot)
		return thread;
	if (!thread && edge_is_unobserved(task) && edge_slot_try_take(slot)) {
		edge_slot_renew(slot, seen_registrations);
		slot->unobserved_tasks[task->pid & (EDGE_UNOBSERVED_TASKS - 1)] = (__u64)task;
		edge_slot_release(slot);
	}
	return thread;
}

/* At a switch on this CPU: whether an observed thread gets it. */
static __always_inline void edge_note_running(struct edge_slot *slot, __u32 is_observed)
{
	if (slot)
		*(volatile __u32 *)&slot->runs_observed = is_observed;
}

/*
 * The slow path: looks up the state of the task with these saved registers; NULL = not observed,
 * and remembered as such. *ret_seen_registrations: `registrations` from before the lookup, for
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
	if (thread || !edge_is_unobserved(task) || !edge_slot_try_take(slot))
		return thread;
	edge_slot_renew(slot, seen_registrations);
	slot->unobserved_registers[task->pid & (EDGE_UNOBSERVED_TASKS - 1)] = registers;
	edge_slot_release(slot);
	return NULL;
}

/* Whether the slot still holds time that another thread has to fold. The caller holds the slot. */
static __always_inline bool edge_slot_is_kept(const struct edge_slot *slot,
					      const struct thread_state *thread)
{
	return slot->serial && slot->serial != thread->serial &&
	       account_growth(thread->clock.mark_ns, slot->times.mark_ns) < EDGE_KEPT_NS;
}

/* Its next readings are compared with the thread's last one. */
static __always_inline void edge_watch(struct edge_watch *watch, const struct thread_state *thread)
{
	watch->is_read = 0;
	watch->address = thread_is_lean(thread) ? thread->tls_address : 0;
	if (!watch->address)
		return;
	watch->pointer = thread->state_pointer;
	watch->changes = thread->changes;
	watch->changes_words = thread->config.changes_words;
	watch->generation = thread->generation;
}

/*
 * From here on the edges of this thread, which runs and whose books the caller holds, take the fast
 * path. Not if calls are counted by number, for which a slot has no space, or the next one must
 * charge what was read and written, if its configuration may have changed, if a change of context
 * is open, or if the context is known only until the thread runs.
 */
static __always_inline void edge_arm(struct edge_slot *slot, struct thread_state *thread,
				     __u64 registers, __u32 seen_registrations)
{
	if (session.has_syscalls || (session.has_io && thread->io.is_full) ||
	    thread->generation != generation || thread->is_change_open ||
	    thread->knowledge == CONTEXT_KNOWN_TILL_IT_RUNS || !edge_slot_try_take(slot))
		return;
	if (edge_slot_is_kept(slot, thread)) {
		edge_slot_release(slot);
		return;
	}
	edge_slot_renew(slot, seen_registrations);
	account_edges_open(&slot->times, &thread->clock);
	edge_watch(&slot->watch, thread);
	slot->serial = thread->serial;
	slot->registers = registers;
	thread->armed_cpu = bpf_get_smp_processor_id() + 1;
	edge_slot_release(slot);
}

/* Its edges take the slow path again; the slot keeps its sums for edge_fold(). */
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
	/* It left that CPU unseen. Since 5.19; before, the user/kernel split of that interval is
	 * lost. */
	if (!compat_has_percpu_lookup())
		return NULL;
	return bpf_map_lookup_percpu_elem(&edge_slots, &key, cpu);
}

/* Clears the slot of a thread that has run for the last time: no boundary will fold it. */
static __always_inline void edge_abandon(const struct thread_state *thread)
{
	struct edge_slot *slot = thread->armed_cpu ? edge_slot_of(thread) : NULL;

	if (!slot || slot->serial != thread->serial || !edge_slot_try_take(slot))
		return;
	slot->registers = 0;
	slot->serial = 0;
	edge_slot_release(slot);
}

/* See edge_fold(). */
VERIFIED_ONCE int edge_fold_slot(struct thread_state *thread)
{
	struct edge_slot *slot;

	if (!thread)
		return 0;
	slot = edge_slot_of(thread);
	if (slot) {
		if (!edge_slot_try_take(slot))
			return 0;
		if (slot->serial == thread->serial) {
			slot->registers = 0;
			if (slot->watch.address && slot->watch.is_read)
				thread->sure_ns =
					account_on_cpu(&thread->pending) + slot->watch.sure_ns;
			account_edges_fold(&slot->times, &thread->clock, &thread->pending);
			slot->serial = 0;
		}
		edge_slot_release(slot);
	}
	thread->armed_cpu = 0;
	return 1;
}

/*
 * Folds what a slot has of this thread into its books, which the caller holds. False: the slot is
 * held.
 */
static __always_inline bool edge_fold(struct thread_state *thread)
{
	return !thread->armed_cpu || edge_fold_slot(thread);
}
