/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Switches of a thread that happened while somebody else held its books: noted by the CPU that
 * switches, with all of the kernel's figures at that instant, and written up by the next holder. No
 * noted switch is lost or made up. A ring with one writer, because a thread is on one CPU at a
 * time, and one reader, because the books have one holder. Full barriers publish both ends: such
 * switches are rare.
 */
#pragma once

#include <linux/types.h>
#include <stddef.h>

#include <correlator/account.h>

enum {
	MISSED_SWITCHES = 4 /* a power of two; the books are held for microseconds */
};

struct missed_switch {
	struct kernel_figures figures;
	__u64 at_ns;
	__u64 stolen_ns; /* switch-in: stolen from the CPU since boot */
	__u64 stack; /* switch-out, with --stacks=off-cpu (stacks.h) */
	__u64 tip; /* switch-out, with --stacks=off-cpu (stacks.h) */
	__u32 is_out;
	__u32 off_reason; /* switch-out: as in struct thread_clock */
	__u32 cpu;
	__u32 reserved;
};

_Static_assert(sizeof(struct missed_switch) == 8 * 8 + 4 * 4, "layout");

struct missed_switches {
	struct missed_switch switches[MISSED_SWITCHES];
	__u32 noted; /* switches noted so far */
	__u32 settled; /* switches written up so far */
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

/* Whether the last switch not written up yet is a switch-in. */
static inline int missed_switches_end_on_cpu(const struct missed_switches *missed)
{
	__u32 noted = missed_switches_load(&missed->noted);

	return noted != missed_switches_load(&missed->settled) &&
	       !missed->switches[(noted - 1) & (MISSED_SWITCHES - 1)].is_out;
}

/* For the CPU that switches: where to write the next switch; NULL = the ring is full. */
static inline struct missed_switch *missed_switches_next(struct missed_switches *missed)
{
	__u32 noted = missed_switches_load(&missed->noted);

	if (noted - missed_switches_load(&missed->settled) >= MISSED_SWITCHES)
		return NULL;
	return &missed->switches[noted & (MISSED_SWITCHES - 1)];
}

/* The next switch is written: publishes it. */
static inline void missed_switches_note(struct missed_switches *missed)
{
	(void)__sync_lock_test_and_set(&missed->noted, missed_switches_load(&missed->noted) + 1);
}

/* For the holder of the books: drops the noted switches. */
static inline void missed_switches_forget(struct missed_switches *missed)
{
	(void)__sync_lock_test_and_set(&missed->settled, missed_switches_load(&missed->noted));
}

/* Writes one switch up. If its counterpart is missing, exec runtime makes up for it. */
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
 * For the holder of the books: returns the number of switches not written up yet; *ret_first is the
 * number of the first. The holder applies each, and then calls missed_switches_settled().
 */
static inline __u32 missed_switches_read(struct missed_switches *missed, __u32 *ret_first)
{
	*ret_first = missed->settled;
	/* Full barrier: what was written before `noted` is read after it. */
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
