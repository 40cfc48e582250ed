/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timeline: time that becomes pending for a thread is sent as it comes, one message per
 * stint, through a ring of its own; accounts are charged as they are without it. Pure: the kernel
 * programs and the unit tests compile this same text. The caller owns both structs and holds the
 * thread's books.
 *
 * A stint is the growth of the pending totals since the last stint, so the stints of a charge add
 * up to what was charged, whatever the books had to make up for. The context of a stint is known
 * when its time is charged: the stint with STINT_IS_CHARGED has it for all of the thread's stints
 * with its charge number.
 *
 * All times are nanoseconds, of CLOCK_MONOTONIC.
 */
#pragma once

#include <linux/types.h>

#include <correlator/account.h>

enum stint_flags {
	STINT_IS_CHARGED = 1 << 0, /* context_hash, epoch and the flags below are set */
	STINT_IS_OVERFLOW = 1 << 1, /* charged to the overflow of its process */
	STINT_IS_INHERITED = 1 << 2, /* as ACCOUNT_INHERITED */
	STINT_IS_OF_ORIGIN = 1 << 3, /* as ACCOUNT_OF_ORIGIN */
	/* No time, only taken_ns, taken from an account that was charged before: context_hash and
	 * epoch are of that account. */
	STINT_TAKES_BACK = 1 << 4,
};

/*
 * A stint on a CPU, and the wait before it, as a message: from start_ns to end_ns a thread slept,
 * slept uninterruptibly, waited for a CPU, and ran, in this order; any of these may be 0. The rest
 * of end_ns - start_ns was stolen while it ran.
 */
struct stint {
	__u64 start_ns; /* end of the thread's last stint */
	__u64 end_ns;
	__u64 sleeping_ns;
	__u64 uninterruptible_ns;
	__u64 run_queue_ns;
	__u64 user_ns;
	__u64 kernel_ns;
	/* Charged by the clock before it was known to be stolen: subtract it from the running time
	 * of this stint and of earlier ones that were charged to the same account. */
	__u64 taken_ns;
	__u64 context_hash;
	__u64 woken_by; /* tgid << 32 | tid of the thread that woke it; 0 = not known */
	__u64 thread_serial;
	__u64 life; /* of the thread's process (life.h) */
	__u32 tid; /* in the observer's pid namespace */
	__u32 ns_tid; /* in the thread's own pid namespace */
	__u32 cpu; /* on which it ran */
	__u32 epoch; /* the window to which it is charged */
	__u32 charge; /* number of the thread's charge */
	__u32 flags; /* enum stint_flags */
	__u32 syscalls;
	/* The fiber that ran since the last charge, by the target's number; 0 = not known. The
	 * caller sets it, after a charge. */
	__u32 fiber;
	__u32 blocked_on; /* enum blocked_reason of the sleep, if there is one */
	__u32 reserved;
};

_Static_assert(sizeof(struct stint) == 12 * 8 + 10 * 4, "layout");

/* State of a thread's timeline. Zero it, then call timeline_begin(). */
struct thread_timeline {
	/* The part of the pending totals that was sent so far: */
	__u64 sleeping_ns;
	__u64 uninterruptible_ns;
	__u64 run_queue_ns;
	__u64 user_ns;
	__u64 kernel_ns;
	__u64 syscalls;
	__u64 waker; /* last waker, as woken_by; written by the waker, at any time */
	__u32 is_uncharged; /* stints were cut since the last charge */
	__u32 is_cut; /* `stint` is still to be sent */
	__u32 missed_fiber; /* fiber from a probe that found the books held */
	__u32 reserved;
	struct stint stint; /* the last stint */
};

static inline void timeline_begin(struct thread_timeline *timeline, __u64 now_ns)
{
	timeline->stint.end_ns = now_ns;
	timeline->stint.charge = 0;
	timeline->is_uncharged = 0;
	timeline->is_cut = 0;
	timeline->waker = 0;
	timeline->stint.woken_by = 0;
	timeline->stint.fiber = 0;
}

static inline __u64 stint_running_ns(const struct stint *stint)
{
	return stint->user_ns + stint->kernel_ns;
}

/* How many slices it is cut into: sleeping, uninterruptible, run queue, running. */
static inline __u32 stint_slices(const struct stint *stint)
{
	return (stint->sleeping_ns > 0) + (stint->uninterruptible_ns > 0) +
	       (stint->run_queue_ns > 0) + (stint_running_ns(stint) > 0);
}

/* How many losses are counted if the stint is lost: its slices, or one if it takes time back. */
static inline __u32 stint_losses(const struct stint *stint)
{
	return stint_slices(stint) + !!(stint->flags & STINT_TAKES_BACK);
}

/*
 * Cuts the running time that was added. If user or kernel time has become less since the last stint
 * (stolen time is taken from the larger one), all of the stint's running time is of the other mode,
 * and the reduced mode's next growth counts for less. If their sum has become less, earlier stints
 * had too much: the difference is taken_ns.
 */
static inline void timeline_cut_running(struct thread_timeline *timeline,
					const struct account_totals *pending)
{
	__s64 user_ns = (__s64)(pending->user_ns - timeline->user_ns);
	__s64 kernel_ns = (__s64)(pending->kernel_ns - timeline->kernel_ns);
	__s64 sum_ns = user_ns + kernel_ns;

	timeline->stint.taken_ns = 0;
	if (sum_ns < 0) {
		timeline->stint.taken_ns = (__u64)-sum_ns;
		timeline->user_ns = pending->user_ns;
		timeline->kernel_ns = pending->kernel_ns;
		user_ns = sum_ns = 0;
	}
	if (user_ns < 0)
		user_ns = 0;
	if (user_ns > sum_ns)
		user_ns = sum_ns;
	timeline->stint.user_ns = (__u64)user_ns;
	timeline->stint.kernel_ns = (__u64)(sum_ns - user_ns);
	timeline->user_ns += timeline->stint.user_ns;
	timeline->kernel_ns += timeline->stint.kernel_ns;
}

/*
 * Makes a stint of the time that became pending since the last one, up to where the books are
 * written; a gap that is not split yet comes with the next stint. cpu: the caller's CPU.
 */
static inline __attribute__((always_inline)) void timeline_cut(struct thread_timeline *timeline,
							       const struct thread_clock *clock,
							       const struct account_totals *pending,
							       __u32 cpu)
{
	struct stint *stint = &timeline->stint;
	__u64 sleeping_ns = pending->blocked_ns - pending->uninterruptible_ns;

	stint->start_ns = stint->end_ns;
	stint->end_ns = clock->mark_ns - clock->gap_ns;
	if (stint->end_ns < stint->start_ns)
		stint->end_ns = stint->start_ns;
	stint->sleeping_ns = sleeping_ns - timeline->sleeping_ns;
	stint->uninterruptible_ns = pending->uninterruptible_ns - timeline->uninterruptible_ns;
	stint->run_queue_ns = pending->run_queue_ns - timeline->run_queue_ns;
	stint->syscalls = (__u32)(pending->syscalls - timeline->syscalls);
	timeline->sleeping_ns = sleeping_ns;
	timeline->uninterruptible_ns = pending->uninterruptible_ns;
	timeline->run_queue_ns = pending->run_queue_ns;
	timeline->syscalls = pending->syscalls;
	timeline_cut_running(timeline, pending);
	stint->blocked_on = clock->blocked_on;
	stint->cpu = clock->last_cpu ? clock->last_cpu - 1 : cpu;
	stint->flags = 0;
	timeline->is_cut = stint->taken_ns || stint_slices(stint);
	timeline->is_uncharged |= timeline->is_cut;
}

/* The pending totals are charged and restart from 0: the stint just cut has the context. */
static inline void timeline_charge(struct thread_timeline *timeline, __u64 context_hash,
				   __u32 epoch, __u32 flags)
{
	struct stint *stint = &timeline->stint;

	stint->context_hash = context_hash;
	stint->epoch = epoch;
	stint->flags = flags | STINT_IS_CHARGED;
	timeline->is_cut = timeline->is_uncharged;
	timeline->sleeping_ns = 0;
	timeline->uninterruptible_ns = 0;
	timeline->run_queue_ns = 0;
	timeline->user_ns = 0;
	timeline->kernel_ns = 0;
	timeline->syscalls = 0;
}

/* An account that was charged before gives time back: between two stints, when all are sent. The
 * next stint overwrites what is set here. */
static inline void timeline_take_back(struct thread_timeline *timeline, __u64 context_hash,
				      __u32 epoch, __u64 taken_ns)
{
	struct stint *stint = &timeline->stint;

	stint->start_ns = stint->end_ns;
	stint->sleeping_ns = stint->uninterruptible_ns = stint->run_queue_ns = 0;
	stint->user_ns = stint->kernel_ns = 0;
	stint->syscalls = 0;
	stint->taken_ns = taken_ns;
	stint->context_hash = context_hash;
	stint->epoch = epoch;
	stint->flags = STINT_TAKES_BACK;
}

/* The stint that was cut was sent, or lost. */
static inline void timeline_sent(struct thread_timeline *timeline)
{
	struct stint *stint = &timeline->stint;

	if (stint->run_queue_ns || stint_running_ns(stint))
		stint->woken_by = 0;
	if (stint->flags & STINT_IS_CHARGED) {
		stint->charge++;
		timeline->is_uncharged = 0;
	}
	timeline->is_cut = 0;
}

/* The thread gets a CPU, so its waker is known. A preempted thread was not woken. */
static inline void timeline_switch_in(struct thread_timeline *timeline,
				      const struct thread_clock *clock)
{
	if (clock->off_reason == OFF_CPU_RUNNABLE)
		return;
	timeline->stint.woken_by = timeline->waker;
	timeline->waker = 0;
}
