/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/stints.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/hash_table.h"

/*
 * Windows to wait for a stint's charge. A thread's books are written up in each window, unless the
 * thread is late; the stint with its last charge may have been lost.
 */
enum {
	WINDOWS_UNCHARGED_MAX = 60
};

enum stint_fate {
	STINT_WAITS = 0, /* its charge was not reported yet, or is in a later window */
	STINT_SETTLED = 1, /* in the window that was settled last */
	STINT_LOST = 2,
};

struct held_stint {
	struct stint stint;
	size_t number; /* in the order of the ring */
	uint32_t windows; /* ended since it was added */
	enum stint_fate fate;
};

struct lost_stints {
	uint64_t life;
	uint64_t count;
	UT_hash_handle hh;
};

/* The next charge of a thread, looking back from the end. */
struct charge {
	uint64_t thread_serial;
	const struct stint *stint;
	UT_hash_handle hh;
};

struct stints {
	struct held_stint *held;
	size_t count;
	size_t capacity;
	size_t max;
	size_t number;
	struct lost_stints *lost; /* uthash, by life */
};

struct stints *stints_new(size_t max)
{
	struct stints *stints = calloc(1, sizeof(*stints));

	if (stints)
		stints->max = max;
	return stints;
}

static void forget_lost(struct stints *stints)
{
	struct lost_stints *lost, *next;

	HASH_ITER(hh, stints->lost, lost, next) {
		HASH_DEL(stints->lost, lost);
		free(lost);
	}
}

void stints_free(struct stints *stints)
{
	if (!stints)
		return;
	forget_lost(stints);
	free(stints->held);
	free(stints);
}

/* Without memory the loss is not counted either. */
static void lose(struct stints *stints, const struct stint *stint)
{
	struct lost_stints *lost;

	HASH_FIND(hh, stints->lost, &stint->life, sizeof(stint->life), lost);
	if (!lost) {
		lost = calloc(1, sizeof(*lost));
		if (!lost)
			return;
		lost->life = stint->life;
		HASH_ADD(hh, stints->lost, life, sizeof(lost->life), lost);
		if (!lost->hh.tbl) {
			free(lost);
			return;
		}
	}
	lost->count += stint_losses(stint);
}

void stints_add(void *user, const struct stint *stint)
{
	struct stints *stints = user;

	if (stints->count == stints->max ||
	    array_reserve(&stints->held, &stints->capacity, stints->count + 1) < 0) {
		lose(stints, stint);
		return;
	}
	stints->held[stints->count++] =
		(struct held_stint){ .stint = *stint, .number = stints->number++ };
}

uint64_t stints_take_lost(struct stints *stints, uint64_t life)
{
	struct lost_stints *lost;
	uint64_t count;

	HASH_FIND(hh, stints->lost, &life, sizeof(life), lost);
	if (!lost)
		return 0;
	count = lost->count;
	HASH_DEL(stints->lost, lost);
	free(lost);
	return count;
}

static void take_charge(struct held_stint *held, const struct charge *charge)
{
	if (!charge) {
		held->fate = held->windows > WINDOWS_UNCHARGED_MAX ? STINT_LOST : STINT_WAITS;
	} else if (charge->stint->charge != held->stint.charge) {
		/* The stint with its own charge was lost. */
		held->fate = STINT_LOST;
	} else {
		held->stint.context_hash = charge->stint->context_hash;
		held->stint.epoch = charge->stint->epoch;
		held->stint.flags = charge->stint->flags;
	}
}

/* Finds the account of each stint: the thread's next charge has it. */
static void find_charges(struct stints *stints)
{
	struct charge *charges = calloc(stints->count, sizeof(*charges)), *table = NULL, *charge;
	size_t count = 0;

	for (size_t i = stints->count; charges && i-- > 0;) {
		struct held_stint *held = &stints->held[i];

		if (held->stint.flags & STINT_TAKES_BACK)
			continue;
		HASH_FIND(hh, table, &held->stint.thread_serial, sizeof(charge->thread_serial),
			  charge);
		if (!(held->stint.flags & STINT_IS_CHARGED)) {
			take_charge(held, charge);
			continue;
		}
		if (!charge) {
			charge = &charges[count++];
			charge->thread_serial = held->stint.thread_serial;
			HASH_ADD(hh, table, thread_serial, sizeof(charge->thread_serial), charge);
		}
		charge->stint = &held->stint;
	}
	HASH_CLEAR(hh, table);
	free(charges);
}

/* Sorts by account, then by arrival. */
static int compare_accounts(const void *left, const void *right)
{
	const struct held_stint *a = left, *b = right;
	int r = compare_u64(a->stint.thread_serial, b->stint.thread_serial);

	if (r == 0)
		r = compare_u64(a->stint.context_hash, b->stint.context_hash);
	return r ? r : compare_u64(a->number, b->number);
}

static bool is_same_account(const struct stint *a, const struct stint *b)
{
	return a->thread_serial == b->thread_serial && a->context_hash == b->context_hash &&
	       a->epoch == b->epoch;
}

/* Deducts ns; returns the part that the stint did not have. */
static uint64_t take_out(struct stint *stint, uint64_t ns)
{
	struct account_totals totals = { .user_ns = stint->user_ns, .kernel_ns = stint->kernel_ns };

	ns -= account_take_out(&totals, ns);
	stint->user_ns = totals.user_ns;
	stint->kernel_ns = totals.kernel_ns;
	return ns;
}

/* Deducts what an account gave back afterwards from its last stints. */
static void settle_taken(struct stints *stints)
{
	const struct stint *behind = NULL;
	uint64_t owed_ns = 0;

	qsort(stints->held, stints->count, sizeof(*stints->held), compare_accounts);
	for (size_t i = stints->count; i-- > 0;) {
		struct stint *stint = &stints->held[i].stint;

		if (stints->held[i].fate != STINT_SETTLED)
			continue;
		if (behind && !is_same_account(stint, behind))
			owed_ns = 0;
		behind = stint;
		owed_ns = take_out(stint, owed_ns + stint->taken_ns);
	}
}

static int compare_numbers(const void *left, const void *right)
{
	return compare_u64(((const struct held_stint *)left)->number,
			   ((const struct held_stint *)right)->number);
}

void stints_settle(struct stints *stints, uint32_t epoch)
{
	bool is_taken = false;

	for (size_t i = 0; i < stints->count; i++)
		stints->held[i].windows++;
	find_charges(stints);
	for (size_t i = 0; i < stints->count; i++) {
		struct held_stint *held = &stints->held[i];

		if (held->fate == STINT_LOST)
			lose(stints, &held->stint);
		else if ((held->stint.flags & (STINT_IS_CHARGED | STINT_TAKES_BACK)) &&
			 (int32_t)(held->stint.epoch - epoch) <= 0)
			held->fate = STINT_SETTLED;
		is_taken = is_taken || held->stint.taken_ns;
	}
	if (is_taken)
		settle_taken(stints);
}

static int compare_slices(const void *left, const void *right)
{
	const struct slice *a = left, *b = right;
	int r = compare_u64(a->start_ns, b->start_ns);

	return r ? r : compare_u64(a->end_ns, b->end_ns);
}

/* Cuts a slice of at most length_ns within the stint; none if length_ns is 0. */
static void cut_slice(struct slice *slices, size_t *count, const struct stint *stint,
		      enum sched_state state, uint64_t *at_ns, uint64_t length_ns)
{
	uint64_t room_ns = stint->end_ns > *at_ns ? stint->end_ns - *at_ns : 0;
	uint64_t start_ns = *at_ns;

	if (length_ns == 0)
		return;
	*at_ns += length_ns < room_ns ? length_ns : room_ns;
	slices[(*count)++] = (struct slice){
		.stint = stint, .state = state, .start_ns = start_ns, .end_ns = *at_ns
	};
}

static void cut_slices(struct slice *slices, size_t *count, const struct stint *stint)
{
	size_t awake;
	uint64_t at_ns = stint->start_ns;

	cut_slice(slices, count, stint, SCHED_BLOCKED, &at_ns, stint->sleeping_ns);
	cut_slice(slices, count, stint, SCHED_UNINTERRUPTIBLE, &at_ns, stint->uninterruptible_ns);
	awake = *count;
	cut_slice(slices, count, stint, SCHED_RUN_QUEUE, &at_ns, stint->run_queue_ns);
	/* Includes what was stolen while it ran. */
	cut_slice(slices, count, stint, SCHED_RUNNING, &at_ns,
		  stint_running_ns(stint) ? UINT64_MAX : 0);
	if (*count > awake)
		slices[awake].woken_by = stint->woken_by;
}

int stints_each(struct stints *stints, stints_fn on_slice, void *user)
{
	struct slice *slices = calloc(stints->count, STINT_SLICES_MAX * sizeof(*slices));
	size_t count = 0;
	int r = 0;

	if (!slices && stints->count)
		return -ENOMEM;
	for (size_t i = 0; i < stints->count; i++)
		if (stints->held[i].fate == STINT_SETTLED)
			cut_slices(slices, &count, &stints->held[i].stint);
	if (count)
		qsort(slices, count, sizeof(*slices), compare_slices);
	for (size_t i = 0; i < count && r == 0; i++)
		r = on_slice(user, &slices[i]);
	free(slices);
	return r;
}

void stints_next(struct stints *stints)
{
	size_t kept = 0;

	for (size_t i = 0; i < stints->count; i++)
		if (stints->held[i].fate == STINT_WAITS)
			stints->held[kept++] = stints->held[i];
	stints->count = kept;
	if (kept)
		qsort(stints->held, kept, sizeof(*stints->held), compare_numbers);
	forget_lost(stints);
}
