/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/slices.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/hash_table.h"

/*
 * Windows to wait for a slice's charge. A thread's books are written up in each window, unless the
 * thread is late; the slice with its last charge may have been lost.
 */
enum {
	WINDOWS_UNCHARGED_MAX = 60
};

enum slice_fate {
	SLICE_WAITS = 0, /* its charge was not reported yet, or is in a later window */
	SLICE_SETTLED = 1, /* in the window that was settled last */
	SLICE_LOST = 2,
};

struct held_slice {
	struct slice slice;
	size_t number; /* in the order of the ring */
	uint32_t windows; /* ended since it was added */
	enum slice_fate fate;
};

struct lost_slices {
	uint64_t life;
	uint64_t count;
	UT_hash_handle hh;
};

/* The next charge of a thread, looking back from the end. */
struct charge {
	uint64_t thread_serial;
	const struct slice *slice;
	UT_hash_handle hh;
};

struct slices {
	struct held_slice *held;
	size_t count;
	size_t capacity;
	size_t max;
	size_t number;
	struct lost_slices *lost; /* uthash, by life */
};

struct slices *slices_new(size_t max)
{
	struct slices *slices = calloc(1, sizeof(*slices));

	if (slices)
		slices->max = max;
	return slices;
}

static void forget_lost(struct slices *slices)
{
	struct lost_slices *lost, *next;

	HASH_ITER(hh, slices->lost, lost, next) {
		HASH_DEL(slices->lost, lost);
		free(lost);
	}
}

void slices_free(struct slices *slices)
{
	if (!slices)
		return;
	forget_lost(slices);
	free(slices->held);
	free(slices);
}

/* Without memory the loss is not counted either. */
static void lose(struct slices *slices, const struct slice *slice)
{
	struct lost_slices *lost;

	HASH_FIND(hh, slices->lost, &slice->life, sizeof(slice->life), lost);
	if (!lost) {
		lost = calloc(1, sizeof(*lost));
		if (!lost)
			return;
		lost->life = slice->life;
		HASH_ADD(hh, slices->lost, life, sizeof(lost->life), lost);
		if (!lost->hh.tbl) {
			free(lost);
			return;
		}
	}
	lost->count += slice_losses(slice);
}

void slices_add(void *user, const struct slice *slice)
{
	struct slices *slices = user;

	if (slices->count == slices->max ||
	    array_reserve(&slices->held, &slices->capacity, slices->count + 1) < 0) {
		lose(slices, slice);
		return;
	}
	slices->held[slices->count++] =
		(struct held_slice){ .slice = *slice, .number = slices->number++ };
}

uint64_t slices_take_lost(struct slices *slices, uint64_t life)
{
	struct lost_slices *lost;
	uint64_t count;

	HASH_FIND(hh, slices->lost, &life, sizeof(life), lost);
	if (!lost)
		return 0;
	count = lost->count;
	HASH_DEL(slices->lost, lost);
	free(lost);
	return count;
}

static void take_charge(struct held_slice *held, const struct charge *charge)
{
	if (!charge) {
		held->fate = held->windows > WINDOWS_UNCHARGED_MAX ? SLICE_LOST : SLICE_WAITS;
	} else if (charge->slice->charge != held->slice.charge) {
		/* The slice with its own charge was lost. */
		held->fate = SLICE_LOST;
	} else {
		held->slice.context_hash = charge->slice->context_hash;
		held->slice.epoch = charge->slice->epoch;
		held->slice.flags = charge->slice->flags;
	}
}

/* Finds the account of each slice: the thread's next charge has it. */
static void find_charges(struct slices *slices)
{
	struct charge *charges = calloc(slices->count, sizeof(*charges)), *table = NULL, *charge;
	size_t count = 0;

	for (size_t i = slices->count; charges && i-- > 0;) {
		struct held_slice *held = &slices->held[i];

		if (held->slice.flags & SLICE_TAKES_BACK)
			continue;
		HASH_FIND(hh, table, &held->slice.thread_serial, sizeof(charge->thread_serial),
			  charge);
		if (!(held->slice.flags & SLICE_IS_CHARGED)) {
			take_charge(held, charge);
			continue;
		}
		if (!charge) {
			charge = &charges[count++];
			charge->thread_serial = held->slice.thread_serial;
			HASH_ADD(hh, table, thread_serial, sizeof(charge->thread_serial), charge);
		}
		charge->slice = &held->slice;
	}
	HASH_CLEAR(hh, table);
	free(charges);
}

/* Sorts by account, then by arrival. */
static int compare_accounts(const void *left, const void *right)
{
	const struct held_slice *a = left, *b = right;
	int r = compare_u64(a->slice.thread_serial, b->slice.thread_serial);

	if (r == 0)
		r = compare_u64(a->slice.context_hash, b->slice.context_hash);
	return r ? r : compare_u64(a->number, b->number);
}

static bool is_same_account(const struct slice *a, const struct slice *b)
{
	return a->thread_serial == b->thread_serial && a->context_hash == b->context_hash &&
	       a->epoch == b->epoch;
}

/* Deducts ns; returns the part that the slice did not have. */
static uint64_t take_out(struct slice *slice, uint64_t ns)
{
	struct account_totals totals = { .user_ns = slice->user_ns, .kernel_ns = slice->kernel_ns };

	ns -= account_take_out(&totals, ns);
	slice->user_ns = totals.user_ns;
	slice->kernel_ns = totals.kernel_ns;
	return ns;
}

/* Deducts what an account gave back afterwards from its last slices. */
static void settle_taken(struct slices *slices)
{
	const struct slice *behind = NULL;
	uint64_t owed_ns = 0;

	qsort(slices->held, slices->count, sizeof(*slices->held), compare_accounts);
	for (size_t i = slices->count; i-- > 0;) {
		struct slice *slice = &slices->held[i].slice;

		if (slices->held[i].fate != SLICE_SETTLED)
			continue;
		if (behind && !is_same_account(slice, behind))
			owed_ns = 0;
		behind = slice;
		owed_ns = take_out(slice, owed_ns + slice->taken_ns);
	}
}

static int compare_numbers(const void *left, const void *right)
{
	return compare_u64(((const struct held_slice *)left)->number,
			   ((const struct held_slice *)right)->number);
}

void slices_settle(struct slices *slices, uint32_t epoch)
{
	bool is_taken = false;

	for (size_t i = 0; i < slices->count; i++)
		slices->held[i].windows++;
	find_charges(slices);
	for (size_t i = 0; i < slices->count; i++) {
		struct held_slice *held = &slices->held[i];

		if (held->fate == SLICE_LOST)
			lose(slices, &held->slice);
		else if ((held->slice.flags & (SLICE_IS_CHARGED | SLICE_TAKES_BACK)) &&
			 (int32_t)(held->slice.epoch - epoch) <= 0)
			held->fate = SLICE_SETTLED;
		is_taken = is_taken || held->slice.taken_ns;
	}
	if (is_taken)
		settle_taken(slices);
}

static int compare_pieces(const void *left, const void *right)
{
	const struct slice_piece *a = left, *b = right;
	int r = compare_u64(a->start_ns, b->start_ns);

	return r ? r : compare_u64(a->end_ns, b->end_ns);
}

/* Cuts a piece of at most length_ns within the slice; none if length_ns is 0. */
static void cut_piece(struct slice_piece *pieces, size_t *count, const struct slice *slice,
		      enum sched_state state, uint64_t *at_ns, uint64_t length_ns)
{
	uint64_t room_ns = slice->end_ns > *at_ns ? slice->end_ns - *at_ns : 0;
	uint64_t start_ns = *at_ns;

	if (length_ns == 0)
		return;
	*at_ns += length_ns < room_ns ? length_ns : room_ns;
	pieces[(*count)++] = (struct slice_piece){
		.slice = slice, .state = state, .start_ns = start_ns, .end_ns = *at_ns
	};
}

static void cut_pieces(struct slice_piece *pieces, size_t *count, const struct slice *slice)
{
	size_t awake;
	uint64_t at_ns = slice->start_ns;

	cut_piece(pieces, count, slice, SCHED_BLOCKED, &at_ns, slice->sleeping_ns);
	cut_piece(pieces, count, slice, SCHED_UNINTERRUPTIBLE, &at_ns, slice->uninterruptible_ns);
	awake = *count;
	cut_piece(pieces, count, slice, SCHED_RUN_QUEUE, &at_ns, slice->run_queue_ns);
	/* Includes what was stolen while it ran. */
	cut_piece(pieces, count, slice, SCHED_RUNNING, &at_ns,
		  slice_running_ns(slice) ? UINT64_MAX : 0);
	if (*count > awake)
		pieces[awake].woken_by = slice->woken_by;
}

int slices_each(struct slices *slices, slices_fn on_piece, void *user)
{
	struct slice_piece *pieces = calloc(slices->count, SLICE_PIECES_MAX * sizeof(*pieces));
	size_t count = 0;
	int r = 0;

	if (!pieces && slices->count)
		return -ENOMEM;
	for (size_t i = 0; i < slices->count; i++)
		if (slices->held[i].fate == SLICE_SETTLED)
			cut_pieces(pieces, &count, &slices->held[i].slice);
	if (count)
		qsort(pieces, count, sizeof(*pieces), compare_pieces);
	for (size_t i = 0; i < count && r == 0; i++)
		r = on_piece(user, &pieces[i]);
	free(pieces);
	return r;
}

void slices_next(struct slices *slices)
{
	size_t kept = 0;

	for (size_t i = 0; i < slices->count; i++)
		if (slices->held[i].fate == SLICE_WAITS)
			slices->held[kept++] = slices->held[i];
	slices->count = kept;
	if (kept)
		qsort(slices->held, kept, sizeof(*slices->held), compare_numbers);
	forget_lost(slices);
}
