/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Switches of a thread that met its books while somebody else held them: noted, with all that the
 * kernel says at that instant, by the CPU that switches, and written up by whoever holds the books
 * next. Nothing of them is lost or made up. A ring with one writer, because a thread is on one CPU
 * at a time, and one reader, because the books have one holder. Full barriers publish both ends:
 * these are rare.
 */
#pragma once

#include <linux/types.h>
#include <stddef.h>

#include <correlator/account.h>

enum {
	MISSED_SWITCHES = 4 /* a power of two; who holds the books does so for microseconds */
};

struct missed_switch {
	struct kernel_figures figures;
	__u64 at_ns;
	__u64 stolen_ns; /* of a switch-in: from the CPU since boot */
	__u64 stack; /* of a switch-out, with --stacks=off-cpu (stacks.h) */
	__u64 tip; /* the same */
	__u32 is_out;
	__u32 off_reason; /* of a switch-out: as in struct thread_clock */
	__u32 cpu;
	__u32 reserved;
};

_Static_assert(sizeof(struct missed_switch) == 8 * 8 + 4 * 4, "layout");

struct missed_switches {
	struct missed_switch switches[MISSED_SWITCHES];
	__u32 noted; /* in all */
	__u32 settled; /* of them */
};

_Static_assert(sizeof(struct missed_switches) ==
		       MISSED_SWITCHES * sizeof(struct missed_switch) + 2 * 4,
	       "layout");

static inline __u32 missed_switches_load(const __u32 *word)
{
	return *(const volatile __u32 *)word;
}

static inline int missed_switches_wait(const struct missed_switches *missed)
{
	return missed_switches_load(&missed->noted) != missed_switches_load(&missed->settled);
}

/* Whether the last one that waits is a switch-in. */
static inline int missed_switches_end_on_cpu(const struct missed_switches *missed)
{
	__u32 noted = missed_switches_load(&missed->noted);

	return noted != missed_switches_load(&missed->settled) &&
	       !missed->switches[(noted - 1) & (MISSED_SWITCHES - 1)].is_out;
}

/* By the CPU that switches: where the next one is to be written; NULL = there is no room. */
static inline struct missed_switch *missed_switches_next(struct missed_switches *missed)
{
	__u32 noted = missed_switches_load(&missed->noted);

	if (noted - missed_switches_load(&missed->settled) >= MISSED_SWITCHES)
		return NULL;
	return &missed->switches[noted & (MISSED_SWITCHES - 1)];
}

/* It is written. */
static inline void missed_switches_note(struct missed_switches *missed)
{
	(void)__sync_lock_test_and_set(&missed->noted, missed_switches_load(&missed->noted) + 1);
}

/* By who holds the books: what is noted is of no concern. */
static inline void missed_switches_forget(struct missed_switches *missed)
{
	(void)__sync_lock_test_and_set(&missed->settled, missed_switches_load(&missed->noted));
}

/* What a switch does to the books. Where its counterpart is missing, exec runtime must do. */
static inline void missed_switch_apply(const struct missed_switch *one, struct thread_clock *clock,
				       struct account_totals *totals)
{
	__u64 ran_ns = account_growth(one->figures.exec_ns, clock->exec_mark_ns);

	if (!one->is_out) {
		if (!clock->is_off_cpu)
			account_leave_unseen(clock, totals, one->at_ns, &one->figures);
		account_switch_in(clock, totals, one->at_ns, one->stolen_ns, one->cpu);
		return;
	}
	if (clock->is_off_cpu)
		account_enter_unseen(clock, totals, one->at_ns, ran_ns, ~0ULL, one->cpu);
	account_settle_gap(clock, totals, one->figures.run_delay_ns);
	(void)account_switch_out(clock, totals, one->at_ns, &one->figures, one->off_reason);
}

/*
 * The number that wait, the first at *ret_first: by who holds the books, who applies each, and then
 * says that they are settled.
 */
static inline __u32 missed_switches_read(struct missed_switches *missed, __u32 *ret_first)
{
	*ret_first = missed->settled;
	/* Reads it, and what was written before it after that. */
	return __sync_fetch_and_add(&missed->noted, 0) - missed->settled;
}

static inline const struct missed_switch *missed_switches_at(const struct missed_switches *missed,
							     __u32 number)
{
	return &missed->switches[number & (MISSED_SWITCHES - 1)];
}

static inline void missed_switches_settled(struct missed_switches *missed, __u32 next)
{
	(void)__sync_lock_test_and_set(&missed->settled, next);
}
