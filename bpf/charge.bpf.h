/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Charges a thread's pending totals to an account, or, if none can be had, to its process's
 * overflow: time is never dropped. The caller holds the thread.
 */
#pragma once

#include "edges.bpf.h"
#include "hold.bpf.h"
#include "io_counts.bpf.h"
#include "origin.bpf.h"
#include "stall.bpf.h"
#include "syscall_counts.bpf.h"
#include "timeline.bpf.h"
#include "wait_stack.bpf.h"

static __always_inline void charge_overflow(struct thread_state *thread)
{
	struct process_books *process = bpf_map_lookup_elem(&books, &thread->life);
	const struct account_totals *from = &thread->pending;
	struct account_totals *into;

	if (!process)
		return;
	into = &process->epochs[thread->epoch & 1].overflow;
#define ADD(type, name) __sync_fetch_and_add(&into->name, from->name);
	ACCOUNT_TOTALS(ADD, ADD)
#undef ADD
	if (!from->blocked_ns)
		return;
	for (int i = 0; i < BLOCKED_REASONS_KEPT; i++)
		__sync_fetch_and_add(&into->blocked_on_ns[i], from->blocked_on_ns[i]);
}

/* True if the snapshot has late values that are not known to be in `contexts`. */
static __always_inline bool charge_has_late_news(const struct thread_state *thread)
{
	return session.late_keys && thread->snapshot.late_hash &&
	       (thread->noted_late_hash != thread->snapshot.late_hash ||
		thread->noted_hash != thread->snapshot_hash ||
		thread->noted_epoch != thread->epoch);
}

static __always_inline void charge_note_late_values(struct thread_state *thread)
{
	if (session.late_keys) {
		thread->noted_late_hash = thread->snapshot.late_hash;
		thread->noted_hash = thread->snapshot_hash;
		thread->noted_epoch = thread->epoch;
	}
}

/*
 * Replaces a snapshot in `contexts` that lacks the thread's late values, or has other ones, by the
 * thread's. Atomic for concurrent readers and writers. False: the entry is gone.
 */
static __always_inline bool charge_complete_snapshot(struct thread_state *thread,
						     const struct context_snapshot *known,
						     __u64 hash)
{
	if (known->late_hash != thread->snapshot.late_hash) {
		thread->snapshot.family = known->family;
		if (bpf_map_update_elem(&contexts, &hash, &thread->snapshot, BPF_EXIST))
			return false;
	}
	charge_note_late_values(thread);
	return true;
}

/*
 * Publishes the thread's snapshot in `contexts`: when an account is opened for it, which is once a
 * window, not at each change of context; and again when it has late values that may not be there.
 * So an entry that userspace removes in between is there again, or still decoded, when the account
 * is drained (recorder/observe/window/contexts.h). False: no space left.
 */
static __noinline int charge_publish_snapshot(struct thread_state *thread, __u64 hash)
{
	struct context_snapshot *known = bpf_map_lookup_elem(&contexts, &hash);
	__u32 family = thread->config.family;

	if (known &&
	    (!charge_has_late_news(thread) || charge_complete_snapshot(thread, known, hash)))
		return true;
	thread->snapshot.family = family;
	if (share_has_room(&contexts_share, family, session.contexts_max) &&
	    !bpf_map_update_elem(&contexts, &hash, &thread->snapshot, BPF_NOEXIST)) {
		share_add(&contexts_share, family);
		charge_note_late_values(thread);
		return true;
	}
	/* Another thread may have been first. */
	if (bpf_map_lookup_elem(&contexts, &hash))
		return true;
	count_loss(thread->life, COUNTER_CONTEXTS_FULL);
	return false;
}

/* Publishes the snapshot of the context that an account is opened for: the thread's own or its
 * origin's. */
static __always_inline int charge_publish_context(struct thread_state *thread, __u64 hash)
{
	/* Until then userspace has the texts, whether or not the snapshot is there. */
	if (thread->is_recalled)
		return thread->epoch - thread->secured_epoch <= CONTEXT_KEPT_WINDOWS ||
		       bpf_map_lookup_elem(&contexts, &hash);
	if (thread->snapshot_hash == hash)
		return charge_publish_snapshot(thread, hash);
	return !session.has_children || hash != thread->origin_hash || origin_publish(thread, hash);
}

static __always_inline struct account *charge_open_account(struct thread_state *thread,
							   struct task_struct *task, void *epoch,
							   const struct account_key *key,
							   bool is_needed)
{
	struct account *fresh = &thread->fresh;
	struct share_table *share = &accounts_share[thread->epoch & 1];

	if (thread->is_unread && thread->snapshot_hash == key->context_hash)
		count_loss(thread->life, COUNTER_VALUE_UNREADABLE);
	fresh->first_ns = fresh->last_ns = thread->pending_first_ns;
	fresh->tid = thread->tid;
	fresh->ns_tid = thread->ns_tid;
	fresh->tgid = thread->tgid;
	fresh->image = thread->image;
	if (bpf_probe_read_kernel(fresh->comm, sizeof(fresh->comm), task->comm))
		fresh->comm[0] = 0;
	if (!share_has_room(share, thread->config.family, session.accounts_max) ||
	    bpf_map_update_elem(epoch, key, fresh, BPF_NOEXIST)) {
		if (is_needed)
			count_loss(thread->life, COUNTER_ACCOUNTS_FULL);
		return NULL;
	}
	/* The account comes first: a snapshot without an account would never be removed. */
	if (key->context_hash >= CONTEXT_HASH_FIRST &&
	    !charge_publish_context(thread, key->context_hash)) {
		bpf_map_delete_elem(epoch, key);
		return NULL;
	}
	share_add(share, thread->config.family);
	thread->opened_hash = key->context_hash;
	thread->opened_epoch = thread->epoch;
	return bpf_map_lookup_elem(epoch, key);
}

/* The context that pending time is charged to. */
static __always_inline __u64 charge_hash(const struct thread_state *thread)
{
	return thread->knowledge == CONTEXT_UNKNOWN ? CONTEXT_HASH_UNKNOWN : thread->context_hash;
}

/* The account for what is pending, opened if necessary; NULL = charge to overflow. is_needed: there
 * is time to charge. */
static __always_inline struct account *charge_find_account(struct thread_state *thread,
							   struct task_struct *task, bool is_needed)
{
	struct account_key key = {
		.context_hash = charge_hash(thread),
		.thread_serial = thread->serial,
		.life = thread->life,
	};
	__u32 active = thread->epoch & 1;
	struct account *account;
	void *epoch;

	epoch = bpf_map_lookup_elem(&accounts, &active);
	if (!epoch || key.context_hash == CONTEXT_HASH_OVERFLOW)
		return NULL;
	account = bpf_map_lookup_elem(epoch, &key);
	if (!account)
		return charge_open_account(thread, task, epoch, &key, is_needed);
	/* If the late values do not fit, the next charge retries. */
	if (charge_has_late_news(thread) && thread->snapshot_hash == key.context_hash &&
	    !charge_publish_snapshot(thread, key.context_hash))
		thread->state_serial = 0;
	return account;
}

/* The window that the thread's next charge goes to: its own, or, if that is drained already because
 * the thread is late, open_epoch. */
static __always_inline __u32 charge_epoch(const struct thread_state *thread)
{
	__u32 open = open_epoch;

	return (__s32)(open - thread->epoch) > 0 ? open : thread->epoch;
}

static __always_inline void charge_leave_drained_window(struct thread_state *thread)
{
	thread->epoch = charge_epoch(thread);
}

/*
 * Call before building another snapshot over the thread's. Pending time can be charged to its
 * context later only if its account is open, because the snapshot was published with that, and if
 * its late values are published. Otherwise opens the account now; if that fails, the pending time
 * goes to overflow.
 */
static __noinline int charge_secure_pending(struct thread_state *thread, struct task_struct *task)
{
	__u32 epoch = thread->epoch;
	bool is_open;

	charge_leave_drained_window(thread);
	is_open = thread->opened_epoch == thread->epoch &&
		  thread->opened_hash == thread->context_hash && !charge_has_late_news(thread);
	if (thread->pending_first_ns && !is_open && thread->context_hash >= CONTEXT_HASH_FIRST &&
	    !charge_find_account(thread, task, true))
		thread->context_hash = CONTEXT_HASH_OVERFLOW;
	/* No time is charged yet: the thread still has to be written up. */
	thread->epoch = epoch;
	return 0;
}

/* Flags an account by how its context came to be in force. Returns the same as enum stint_flags. */
static __always_inline __u32 charge_flag(const struct thread_state *thread, struct account *account)
{
	__u32 stint_flags = 0;

	if (thread->is_inherited) {
		account->flags |= ACCOUNT_INHERITED;
		stint_flags = STINT_IS_INHERITED;
	}
	if (session.has_children && thread->is_of_origin) {
		account->flags |= ACCOUNT_OF_ORIGIN;
		stint_flags |= STINT_IS_OF_ORIGIN;
	}
	return stint_flags;
}

/*
 * Remembers that this account may have been charged too much (charge_take_back()). Branch-free: the
 * verifier would follow each branch to the end of every charge.
 */
static __always_inline void charge_remember(struct thread_state *thread, __u64 hash)
{
	struct charged_account *last = &thread->charged[thread->charged_last % CHARGED_KEPT];
	__u64 differs = (last->context_hash ^ hash) | (last->epoch ^ thread->epoch);

	thread->charged_last += (differs | -differs) >> 63;
	last = &thread->charged[thread->charged_last % CHARGED_KEPT];
	last->context_hash = hash;
	last->epoch = thread->epoch;
}

/*
 * Settles the pending CPU time beyond sure_ns: is_doubtful = 1 makes it ambiguous, 0 adds it to
 * what is surely its context's. Branch-free, as charge_remember().
 */
static __always_inline void charge_doubt(struct thread_state *thread, __u64 is_doubtful)
{
	__u64 on_cpu_ns = account_on_cpu(&thread->pending);

	thread->pending.ambiguous_ns += account_growth(on_cpu_ns, thread->sure_ns) & -is_doubtful;
	thread->sure_ns = on_cpu_ns;
}

/* The account that was charged is open, and its context published: until the window ends the
 * context can be recalled. Branch-free, as charge_remember(); serial 0 is never looked for. */
static __always_inline void charge_note_known(struct thread_state *thread)
{
	__u64 is_known = thread->knowledge;

	is_known = (is_known | -is_known) >> 63;
	__asm__("" : "+r"(is_known));
	known_context_note(thread->known_contexts, thread->state_serial & -is_known,
			   thread->context_hash, thread->epoch, thread->reading);
	thread->secured_epoch = thread->epoch;
}

/* See charge_pending(). */
static __noinline int charge_to_account(struct thread_state *thread, struct task_struct *task,
					__u64 now_ns)
{
	struct account *account;
	__u32 stint_flags = 0;

	charge_leave_drained_window(thread);
	gvl_wait_charged(&thread->gvl, 0);
	gc_time_charged(&thread->gc, &thread->pending);
	if (!thread->pending_first_ns)
		return 0;
	charge_doubt(thread, thread_is_lean(thread));
	account = charge_find_account(thread, task, true);
	if (account) {
		if (thread->knowledge != CONTEXT_UNKNOWN &&
		    thread->context_hash >= CONTEXT_HASH_FIRST)
			stint_flags = charge_flag(thread, account);
		if (thread->gvl.serial | (thread->config.flags & PROCESS_SHOWS_GVL))
			account->flags |= ACCOUNT_COUNTS_GVL;
		if (thread->gc.serial)
			account->flags |= ACCOUNT_COUNTS_GC;
		account_fold(&account->totals, &thread->pending);
		charge_remember(thread, charge_hash(thread));
		charge_note_known(thread);
		/* A switch's timestamp may be slightly older than the last edge's. */
		account->last_ns =
			now_ns > thread->pending_first_ns ? now_ns : thread->pending_first_ns;
	} else {
		charge_overflow(thread);
		stint_flags = STINT_IS_OVERFLOW;
	}
	if (session.has_syscalls) {
		thread->syscalls.charged_hash =
			account ? charge_hash(thread) : CONTEXT_HASH_OVERFLOW;
		thread->syscalls.charged_epoch = thread->epoch;
		thread->syscalls.is_charged = 1;
	}
	if (session.has_io) {
		thread->io.charged_hash = account ? charge_hash(thread) : CONTEXT_HASH_OVERFLOW;
		thread->io.charged_epoch = thread->epoch;
		thread->io.is_charged = 1;
	}
	if (session.has_wait_stacks)
		wait_places_note_charge(thread,
					account ? charge_hash(thread) : CONTEXT_HASH_OVERFLOW);
	if (session.stall_least_ns) {
		stall_charged(&thread->stall, &thread->pending);
		hog_charged(&thread->hog, &thread->pending, charge_hash(thread));
	}
	if (session.has_timeline)
		(void)timeline_note_charge(thread, charge_hash(thread), stint_flags);
	__builtin_memset(&thread->pending, 0, sizeof(thread->pending));
	thread->sure_ns = 0;
	thread->pending_first_ns = 0;
	return 0;
}

/* charge_pending() without charge_details(). */
static __always_inline void charge_time(struct thread_state *thread, struct task_struct *task,
					__u64 now_ns)
{
	(void)charge_to_account(thread, task, now_ns);
	if (session.has_timeline)
		(void)timeline_send(thread);
}

/* Charges the system calls by number, what they read and wrote, and the wait stacks that belong to
 * the last charge. Call before the thread is released or charged again. Calls global functions. */
static __always_inline void charge_details(struct thread_state *thread)
{
	if (session.has_syscalls)
		(void)syscall_counts_charge(thread);
	if (session.has_io)
		(void)io_counts_charge(thread);
	if (session.has_wait_stacks)
		(void)wait_places_charge(thread);
}

/* Charges everything pending to the thread's context (charge_hash()). */
static __always_inline void charge_pending(struct thread_state *thread, struct task_struct *task,
					   __u64 now_ns)
{
	charge_time(thread, task, now_ns);
	charge_details(thread);
}

/* charge_pending() where the context continues, and with it a GVL wait that has not ended. */
static __always_inline void charge_so_far(struct thread_state *thread, struct task_struct *task,
					  __u64 now_ns)
{
	__u64 claimable_ns = gvl_wait_claimable(&thread->gvl, &thread->pending);

	charge_pending(thread, task, now_ns);
	gvl_wait_charged(&thread->gvl, claimable_ns);
}

static __always_inline void charge_note_pending(struct thread_state *thread, __u64 since_ns)
{
	if (!thread->pending_first_ns)
		thread->pending_first_ns = since_ns;
}

/* Takes time that was charged too much back out of one account of this window, as far as the
 * account has it. Does nothing once the window may be drained. */
static __always_inline void charge_take_back_from(struct thread_state *thread,
						  const struct charged_account *charged)
{
	struct account_key key = {
		.context_hash = charged->context_hash,
		.thread_serial = thread->serial,
		.life = thread->life,
	};
	__u32 active = thread->epoch & 1;
	void *epoch = bpf_map_lookup_elem(&accounts, &active);
	struct account *account;
	__u64 taken_ns;

	if (!epoch || charged->epoch != thread->epoch || (__s32)(open_epoch - thread->epoch) > 0)
		return;
	account = bpf_map_lookup_elem(epoch, &key);
	if (!account)
		return;
	taken_ns = account_give_back(&thread->clock, &account->totals);
	if (session.has_timeline && taken_ns)
		(void)timeline_tell_taken(thread, charged->context_hash, taken_ns);
}

/*
 * Call after a stint for which the clock charged more than the scheduler reports, by more than is
 * pending: time was reported as stolen after the context had changed. Takes it back from the last
 * accounts that the thread was charged to in this window, with this program; the next stint
 * compensates for the rest.
 */
VERIFIED_ONCE int charge_take_back(struct thread_state *thread)
{
	__u32 last;

	if (!thread)
		return 0;
	last = thread->charged_last;
	for (__u32 i = 0; i < CHARGED_KEPT && thread->clock.exec_ahead_ns; i++)
		charge_take_back_from(thread, &thread->charged[(last - i) % CHARGED_KEPT]);
	return 0;
}

/* Start of the time that is not pending yet, including a preceding gap off the CPU that is not
 * split yet. */
static __always_inline __u64 charge_since(const struct thread_state *thread)
{
	return thread->clock.mark_ns - thread->clock.gap_ns;
}

/* Whether userspace is about to forget the texts of a recalled context, which the thread may still
 * have time to charge to. */
static __always_inline bool charge_must_keep(const struct thread_state *thread)
{
	return thread->is_recalled && thread->knowledge != CONTEXT_UNKNOWN &&
	       charge_epoch(thread) - thread->secured_epoch == CONTEXT_KEPT_WINDOWS;
}

/*
 * For a thread that passes no boundary through many windows: it was woken, and waits for a CPU, or
 * left its CPU unseen. Opens an empty account for its context, so that userspace keeps the texts.
 */
static __noinline int charge_keep_context(struct thread_state *thread, struct task_struct *task)
{
	__u64 first_ns = thread->pending_first_ns;
	__u32 epoch = thread->epoch;

	charge_leave_drained_window(thread);
	/* As it will be when that time is charged, maybe to this very account. */
	charge_note_pending(thread, charge_since(thread));
	if (charge_find_account(thread, task, false))
		thread->secured_epoch = thread->epoch;
	thread->pending_first_ns = first_ns;
	thread->epoch = epoch;
	return 0;
}

VERIFIED_ONCE int thread_apply_missed(struct thread_state *thread, __u32 number)
{
	const struct missed_switch *one;

	if (!thread)
		return 0;
	charge_note_pending(thread, charge_since(thread));
	one = missed_switches_at(&thread->missed, number);
	missed_switch_apply(one, &thread->clock, &thread->pending);
	if (session.has_wait_stacks && one->is_out)
		(void)wait_places_begin(thread, one->stack, one->tip);
	if (session.stall_least_ns)
		stall_miss(thread, one->at_ns);
	timeline_tell(thread);
	return 0;
}

static __always_inline bool thread_has_missed(const struct thread_state *thread)
{
	return missed_switches_wait(&thread->missed) || missed_calls_wait(&thread->missed_calls);
}

/* Writes up the switches and calls that found the books held. The caller holds them now. */
static __noinline int thread_settle_missed(struct thread_state *thread)
{
	__u32 first, count = missed_switches_read(&thread->missed, &first);

	for (__u32 i = 0; i < MISSED_SWITCHES; i++) {
		if (i >= count)
			break;
		(void)thread_apply_missed(thread, first + i);
	}
	missed_switches_settled(&thread->missed, first + count);
	if (missed_calls_wait(&thread->missed_calls)) {
		charge_note_pending(thread, charge_since(thread));
		thread->pending.syscalls += missed_calls_settle(
			&thread->missed_calls, session.has_syscalls ? &thread->syscalls : NULL);
	}
	return 0;
}

/*
 * Takes the books of a thread at a boundary and brings them up to the previous one. False: the
 * books, or the slot of its edges, are held by someone else.
 */
static __always_inline bool thread_take(struct thread_state *thread, struct task_struct *task,
					__u64 now_ns, __u32 is_off_cpu)
{
	if (!thread_try_hold(thread))
		return false;
	if (!thread->is_begun)
		thread_begin_books(thread, task, now_ns, is_off_cpu);
	if (!edge_fold(thread)) {
		thread_release(thread);
		return false;
	}
	if (thread_has_missed(thread))
		(void)thread_settle_missed(thread);
	return true;
}

/*
 * Charges the time off the CPU to the context that was read before it, when a store might still
 * have been ahead. A GVL wait that is part of it ends only when the thread runs Ruby again.
 */
static __always_inline void charge_time_off_cpu(struct thread_state *thread,
						struct task_struct *task, __u64 now_ns)
{
	charge_so_far(thread, task, now_ns);
	thread->knowledge = CONTEXT_UNKNOWN;
}

/*
 * Writes the thread up: charges what is pending, publishes its exec runtime, and moves it to the
 * window that is open now. exec_ns: its exec runtime up to here. The task is off the CPU or is the
 * current one, so its saved registers are those of its last kernel entry. The caller calls
 * charge_details().
 */
static __always_inline void charge_end_window(struct thread_state *thread, struct task_struct *task,
					      __u64 now_ns, __u64 exec_ns)
{
	__u64 claimable_ns = gvl_wait_claimable(&thread->gvl, &thread->pending);

	charge_time(thread, task, now_ns);
	gvl_wait_charged(&thread->gvl, claimable_ns);
	thread_publish_exec(thread, exec_ns);
	thread->epoch = current_epoch;
	if (seeks_mode)
		thread->clock.mode =
			compat_is_in_syscall(task) ? THREAD_MODE_KERNEL : THREAD_MODE_USER;
}

/*
 * Once the programs are stopped, no switch closes the interval of a thread that keeps running, and
 * no next stint compensates for what was charged too much: the books show what is left.
 */
static __always_inline void charge_close_running(struct thread_state *thread,
						 struct task_struct *task, __u64 now_ns)
{
	__u64 since_ns = charge_since(thread);
	struct kernel_figures figures;

	if (thread->clock.is_off_cpu)
		return;
	thread_figures(task, &figures);
	/* It may have left the CPU unseen since then; its sum_exec_runtime is then up to date. */
	if (task->on_cpu)
		figures.exec_ns = exec_runtime_now(task, now_ns);
	account_settle_gap(&thread->clock, &thread->pending, figures.run_delay_ns);
	account_switch_out(&thread->clock, &thread->pending, now_ns, &figures, OFF_CPU_RUNNABLE);
	charge_note_pending(thread, since_ns);
	if (thread->clock.exec_ahead_ns)
		charge_take_back_from(thread,
				      &thread->charged[thread->charged_last % CHARGED_KEPT]);
	account_forgive(&thread->clock);
}
