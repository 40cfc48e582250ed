/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stack in which a thread waited (correlator/stacks.h). Its frames are taken where it leaves
 * the CPU, which is where it resumes. Its time off the CPU is added up under that stack when it is
 * charged: to the same account, to the nanosecond, even if the thread sleeps on. Until then it is
 * kept in the thread's state, in one place per wait. Usually there is only one wait, because what
 * is pending is charged when the next one begins, unless its context is not known yet or a switch
 * found the books held. Without --stacks=off-cpu none of this is loaded: session.has_wait_stacks is
 * a constant 0 then.
 */
#pragma once

#include "hold.bpf.h"

#include <correlator/context_hash.h>
#include <correlator/stacks.h>

EPOCHS(waits, struct sample_key, struct wait_sums, SAMPLES_MAX);

/* Adds the time that became pending since the last call to the last wait. */
static __always_inline void wait_places_close(struct thread_state *thread)
{
	struct wait_places *waited = &thread->waited;
	struct wait_place *place = &waited->places[waited->last & (WAIT_PLACES - 1)];

	place->sums.blocked_ns +=
		account_growth(thread->pending.blocked_ns, waited->placed_blocked_ns);
	place->sums.run_queue_ns +=
		account_growth(thread->pending.run_queue_ns, waited->placed_run_queue_ns);
	waited->placed_blocked_ns = thread->pending.blocked_ns;
	waited->placed_run_queue_ns = thread->pending.run_queue_ns;
}

/* Begins a wait: the thread has left the CPU in this stack. */
static __noinline int wait_places_begin(struct thread_state *thread, __u64 stack, __u64 tip)
{
	struct wait_places *waited = &thread->waited;
	struct wait_place *place;

	wait_places_close(thread);
	place = &waited->places[waited->last & (WAIT_PLACES - 1)];
	if (wait_sums_have_time(&place->sums)) {
		if (waited->last >= WAIT_PLACES - 1) {
			place->stack = STACK_NOT_SEEN;
			place->tip = TIP_NONE;
			place->sums.waits++;
			return 0;
		}
		waited->last++;
		place = &waited->places[waited->last & (WAIT_PLACES - 1)];
	}
	place->stack = stack;
	place->tip = tip;
	place->sums = (struct wait_sums){ .waits = 1 };
	return 0;
}

/* Notes that what is pending was charged, before it is reset. account_hash: the context of the
 * account. */
static __always_inline void wait_places_note_charge(struct thread_state *thread, __u64 account_hash)
{
	struct wait_places *waited = &thread->waited;

	wait_places_close(thread);
	waited->placed_blocked_ns = waited->placed_run_queue_ns = 0;
	waited->charged_hash = account_hash;
	waited->charged_epoch = thread->epoch;
	waited->is_charged = 1;
}

/* The account is of this thread, which is held: nothing else adds there. False: no space left. */
static __always_inline bool wait_places_add(void *epoch, const struct sample_key *key,
					    const struct wait_place *place)
{
	struct wait_sums *sums = bpf_map_lookup_elem(epoch, key);
	struct wait_sums fresh = place->sums;

	if (!sums)
		return !bpf_map_update_elem(epoch, key, &fresh, BPF_NOEXIST);
	wait_sums_add(sums, &fresh);
	return true;
}

/* Adds all waits that have time to the window; returns how many did not fit. */
static __noinline int wait_places_add_all(struct thread_state *thread)
{
	struct wait_places *waited = &thread->waited;
	struct sample_key key = {
		.account.context_hash = waited->charged_hash,
		.account.thread_serial = thread->serial,
		.account.life = thread->life,
	};
	__u32 active = waited->charged_epoch & 1;
	void *epoch = bpf_map_lookup_elem(&waits, &active);
	int lost = 0;

	for (__u32 i = 0; i < WAIT_PLACES; i++) {
		struct wait_place *place = &waited->places[i];

		if (i > waited->last)
			break;
		if (!wait_sums_have_time(&place->sums))
			continue;
		key.stack = place->stack;
		key.tip = place->tip;
		if (!epoch || !wait_places_add(epoch, &key, place))
			lost++;
		place->sums = (struct wait_sums){ 0 };
	}
	return lost;
}

/* Call after charge_to_account(), with the thread still held: the last wait may continue. */
VERIFIED_ONCE int wait_places_charge(struct thread_state *thread)
{
	struct wait_places *waited;
	int lost;

	/* Kernels before 6.8 verify this even if nothing calls it, and then there are no maps. */
	if (!session.has_wait_stacks || !thread || !thread->waited.is_charged)
		return 0;
	waited = &thread->waited;
	waited->is_charged = 0;
	lost = wait_places_add_all(thread);
	if (lost)
		count_losses(thread->life, COUNTER_SAMPLE_LOST, lost);
	waited->places[0] = waited->places[waited->last & (WAIT_PLACES - 1)];
	waited->last = 0;
	return 0;
}
