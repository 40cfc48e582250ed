/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls by number (correlator/syscall_counts.h): counted in the thread's state at their
 * entry, and charged with what is pending, to the same account. So the context need not be known
 * when they are counted. Without --syscalls none of this is loaded: session.has_syscalls is a
 * constant 0 then.
 */
#pragma once

#include "hold.bpf.h"

EPOCHS(syscalls, struct syscall_key, struct syscall_sums, SYSCALLS_PER_ACCOUNT *ACCOUNTS_MAX);

struct share_table syscalls_share[2];

/* 1: the tracepoints of system calls are attached; without them, an exit may be missed. */
volatile __u32 sees_syscalls;

/* Whether the thread has a place to count the call in. */
VERIFIED_ONCE int syscall_counts_has_place(struct thread_state *thread, __u32 call)
{
	return thread && syscall_counts_place(&thread->syscalls, call);
}

/* The thread enters call, or, if that is 0, leaves the one that it is in. Its books are written
 * up to then. */
VERIFIED_ONCE int syscall_counts_edge(struct thread_state *thread, __u32 call)
{
	if (!thread)
		return 0;
	if (call)
		syscall_counts_enter(&thread->syscalls, call, thread->clock.mark_ns);
	else
		syscall_counts_leave(&thread->syscalls, thread->clock.mark_ns);
	return 0;
}

/* False: no space left. The account is of this thread, which is held: nothing else counts there. */
static __always_inline bool syscall_counts_add(const struct thread_state *thread, void *epoch,
					       const struct syscall_key *key,
					       const struct syscall_place *place)
{
	struct syscall_sums fresh = { .calls = place->calls, .inside_ns = place->inside_ns };
	struct share_table *share = &syscalls_share[thread->syscalls.charged_epoch & 1];
	struct syscall_sums *sums = bpf_map_lookup_elem(epoch, key);

	if (sums) {
		sums->calls += fresh.calls;
		sums->inside_ns += fresh.inside_ns;
		return true;
	}
	if (!share_has_room(share, thread->config.family,
			    SYSCALLS_PER_ACCOUNT * session.accounts_max) ||
	    bpf_map_update_elem(epoch, key, &fresh, BPF_NOEXIST))
		return false;
	share_add(share, thread->config.family);
	return true;
}

/* Adds all counts of the thread to the window; returns the number of calls that did not fit. */
static __always_inline __u64 syscall_counts_add_all(struct thread_state *thread)
{
	struct syscall_key key = {
		.account.context_hash = thread->syscalls.charged_hash,
		.account.thread_serial = thread->serial,
		.account.life = thread->life,
	};
	__u32 active = thread->syscalls.charged_epoch & 1;
	void *epoch = bpf_map_lookup_elem(&syscalls, &active);
	__u64 lost = 0;

	for (__u32 i = 0; i < SYSCALL_PLACES; i++) {
		struct syscall_place *place = &thread->syscalls.places[i];

		if (!place->call)
			continue;
		key.call = place->call;
		if (!epoch || !syscall_counts_add(thread, epoch, &key, place))
			lost += place->calls;
		place->call = 0;
		place->calls = 0;
		place->inside_ns = 0;
	}
	return lost;
}

/*
 * Call after charge_to_account(), with the thread still held: what was charged reaches up to
 * clock.mark_ns, and so does the time inside of a call in progress.
 */
VERIFIED_ONCE int syscall_counts_charge(struct thread_state *thread)
{
	__u64 lost;

	/* Kernels before 6.8 verify this even if nothing calls it, and then there are no maps. */
	if (!session.has_syscalls || !thread || !thread->syscalls.is_charged)
		return 0;
	thread->syscalls.is_charged = 0;
	syscall_counts_settle(&thread->syscalls, thread->clock.mark_ns);
	if (!sees_syscalls)
		thread->syscalls.call = 0;
	if (!thread->syscalls.has_some)
		return 0;
	thread->syscalls.has_some = 0;
	lost = syscall_counts_add_all(thread);
	if (lost)
		count_losses(thread->life, COUNTER_SYSCALL_LOST, lost);
	return 0;
}
