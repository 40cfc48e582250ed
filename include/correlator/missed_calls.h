/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls that a thread entered while somebody else held its books: noted by the thread, and
 * counted by the next holder. Their duration is not known. A ring with one writer and one reader,
 * as in missed_switches.h; if calls are not counted by number, an unbounded count. Pure: the unit
 * tests compile this same text.
 */
#pragma once

#include <linux/types.h>
#include <stddef.h>

#include <correlator/syscall_counts.h>

enum {
	MISSED_CALLS = 4 /* a power of two; the books are held for microseconds */
};

struct missed_calls {
	__u32 calls[MISSED_CALLS]; /* syscall_call() of each call not counted yet */
	__u32 noted; /* calls noted so far */
	__u32 settled; /* calls counted so far */
};

_Static_assert(sizeof(struct missed_calls) == (MISSED_CALLS + 2) * 4, "layout");

/* The number of calls noted and not counted yet. */
static inline __u32 missed_calls_wait(const struct missed_calls *missed)
{
	return *(const volatile __u32 *)&missed->noted - *(const volatile __u32 *)&missed->settled;
}

/* For the thread itself. call: 0 = calls are not counted by number. Returns 0, or -1 if the ring is
 * full: the call is lost. */
static inline int missed_calls_note(struct missed_calls *missed, __u32 call)
{
	if (call && missed_calls_wait(missed) >= MISSED_CALLS)
		return -1;
	missed->calls[missed->noted & (MISSED_CALLS - 1)] = call;
	(void)__sync_lock_test_and_set(&missed->noted, missed->noted + 1);
	return 0;
}

/* For the holder of the books: drops the noted calls. */
static inline void missed_calls_forget(struct missed_calls *missed)
{
	(void)__sync_lock_test_and_set(&missed->settled, *(const volatile __u32 *)&missed->noted);
}

/*
 * For the holder of the books: counts the noted calls, also in `counts` unless that is NULL, and
 * returns their number. A call without a place in `counts` is left, and so are those after it,
 * until what is pending was charged.
 */
static inline __u32 missed_calls_settle(struct missed_calls *missed, struct syscall_counts *counts)
{
	/* Full barrier: what was written before `noted` is read after it. */
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
