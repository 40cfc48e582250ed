/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls that a thread entered while somebody else held its books: noted by the thread, and
 * counted by whoever holds them next. How long they took is not known. A ring with one writer and
 * one reader, as that of switches (missed_switches.h); where no numbers are asked for, a number
 * without bounds. Pure: the unit tests compile this same text.
 */
#pragma once

#include <linux/types.h>
#include <stddef.h>

#include <correlator/syscall_counts.h>

enum {
	MISSED_CALLS = 4 /* a power of two; who holds the books does so for microseconds */
};

struct missed_calls {
	__u32 calls[MISSED_CALLS]; /* syscall_call() of each that waits */
	__u32 noted; /* in all */
	__u32 settled; /* of them */
};

_Static_assert(sizeof(struct missed_calls) == (MISSED_CALLS + 2) * 4, "layout");

/* How many wait to be counted. */
static inline __u32 missed_calls_wait(const struct missed_calls *missed)
{
	return *(const volatile __u32 *)&missed->noted - *(const volatile __u32 *)&missed->settled;
}

/* By the thread itself; call: 0 = calls are not told apart. 0; -1: there is no room, it is lost. */
static inline int missed_calls_note(struct missed_calls *missed, __u32 call)
{
	if (call && missed_calls_wait(missed) >= MISSED_CALLS)
		return -1;
	missed->calls[missed->noted & (MISSED_CALLS - 1)] = call;
	(void)__sync_lock_test_and_set(&missed->noted, missed->noted + 1);
	return 0;
}

/* By who holds the books: what is noted is of no concern. */
static inline void missed_calls_forget(struct missed_calls *missed)
{
	(void)__sync_lock_test_and_set(&missed->settled, *(const volatile __u32 *)&missed->noted);
}

/*
 * By who holds the books: returns how many were counted, in `counts` too, unless that is NULL. One
 * that has no place there waits, with those behind it, until what is pending was charged.
 */
static inline __u32 missed_calls_settle(struct missed_calls *missed, struct syscall_counts *counts)
{
	/* Reads it, and what was written before it after that. */
	__u32 noted = __sync_fetch_and_add(&missed->noted, 0);
	__u32 waiting = noted - missed->settled;
	__u32 counted = 0;

	if (!counts)
		counted = waiting;
	for (; counts && counted < MISSED_CALLS && counted < waiting; counted++)
		if (!syscall_counts_add_call(
			    counts,
			    missed->calls[(missed->settled + counted) & (MISSED_CALLS - 1)]))
			break;
	(void)__sync_lock_test_and_set(&missed->settled, missed->settled + counted);
	return counted;
}
