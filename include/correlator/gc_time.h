/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of a thread's CPU time went into garbage collections, by the counters that our gem keeps
 * of each Ruby thread (gem_abi.h). Pure: the kernel programs and the unit tests compile this same
 * text. The caller owns all that is passed and serialises access to it.
 *
 * The gem's clock goes on while the thread is off its CPU. So the counters are read whenever it
 * leaves one: what it was off the CPU since, in the middle of a step, is taken out again. A step
 * that goes on is counted up to the reading, so that each window has its own part.
 *
 * What they have grown by belongs to the interval that is open at the reading, up to its length,
 * and before that to what was pending then: by the rule of attribution, like the CPU time that it
 * is part of. It is believed up to that CPU time, and up to what was run since the last reading: a
 * thread that loses its CPU between its reading of the clock and the store behind it is not seen in
 * a step then.
 */
#pragma once

#include <linux/types.h>

#include <correlator/account.h>
#include <correlator/gem_abi.h>

enum {
	/* Between our clock and the thread's own reading of it, which a switch may come between. */
	GC_CLOCK_SLACK_NS = 1000 * 1000,
	/* A collection is no shorter: the roots alone take longer. */
	GC_RUN_LEAST_NS = 1000,
};

/* What is known of a thread's counters. All zeros: nothing. */
struct gc_time {
	__u64 serial; /* of the Ruby thread that they are of; 0 = they are not kept */
	__u64 inside_ns; /* as they were last read: in collections, off the CPU included */
	__u64 runs;
	__u64 off_cpu_ns; /* that the thread had been by then, as off_cpu_before_ns */
	__u64 on_cpu_ns; /* the same of on_cpu_before_ns, with the interval that was open */
	__u64 unclaimed_ns; /* read, and the open interval's */
	__u64 unclaimed_runs;
	__u64 off_cpu_before_ns; /* off the CPU, but for what is pending */
	__u64 on_cpu_before_ns; /* on it, too */
	__u32 is_inside; /* it was in the middle of a step then */
	__u32 was_none; /* none were kept when it was last looked for: they begin with 0 */
};

_Static_assert(sizeof(struct gc_time) == 10 * 8, "layout");

static inline __u64 gc_time_off_cpu_ns(const struct gc_time *known,
				       const struct account_totals *pending)
{
	return known->off_cpu_before_ns + pending->run_queue_ns + pending->blocked_ns;
}

static inline __u64 gc_time_on_cpu_ns(const struct gc_time *known,
				      const struct account_totals *pending)
{
	return known->on_cpu_before_ns + account_on_cpu(pending);
}

/* The CPU time that no collection has claimed. */
static inline __u64 gc_time_room_ns(const struct account_totals *pending)
{
	return account_growth(account_on_cpu(pending), pending->gc_ns);
}

static inline __u64 gc_time_inside_ns(const struct gem_thread *counters, __u64 now_ns)
{
	__u64 ns = counters->gc_time >> 1;

	return counters->gc_time & 1 ? (now_ns - ns) << 1 >> 1 : ns;
}

/* So much of growth as can be true. */
static inline __u64 gc_time_believe(__u64 grown, __u64 most, __u64 slack, int *is_wrong)
{
	if (grown > most + slack)
		*is_wrong = 1;
	return grown < most ? grown : most;
}

/*
 * The thread's counters as they were read at a boundary, which closes an interval on the CPU that
 * has been open for open_ns; pending: what is pending, with the time off the CPU up to here. 0, or
 * 1: they cannot be true, since they went back or grew by more than was run. What they claim is
 * charged all the same, as far as it may be.
 */
static inline int gc_time_take(struct gc_time *known, const struct gem_thread *counters,
			       struct account_totals *pending, __u64 now_ns, __u64 open_ns)
{
	__u64 inside_ns = gc_time_inside_ns(counters, now_ns);
	__u64 off_cpu_ns = gc_time_off_cpu_ns(known, pending);
	__u64 on_cpu_ns = gc_time_on_cpu_ns(known, pending);
	__u64 most_ns = gc_time_room_ns(pending) + open_ns;
	__u64 most_runs = most_ns / GC_RUN_LEAST_NS + 1;
	__u64 grown_ns = 0, grown_runs = 0, earlier_ns, run_ns;
	int is_wrong = 0;

	if (!known->serial && known->was_none && inside_ns <= most_ns &&
	    counters->gc_runs <= most_runs) {
		known->serial = counters->serial;
		known->inside_ns = known->runs = 0;
		known->is_inside = 0;
	}
	if (counters->serial == known->serial) {
		is_wrong = inside_ns + GC_CLOCK_SLACK_NS < known->inside_ns ||
			   counters->gc_runs < known->runs;
		grown_ns = account_growth(inside_ns, known->inside_ns);
		grown_runs = account_growth(counters->gc_runs, known->runs);
		if (known->is_inside)
			grown_ns = account_growth(grown_ns,
						  account_growth(off_cpu_ns, known->off_cpu_ns));
	}
	grown_ns = gc_time_believe(grown_ns, most_ns, GC_CLOCK_SLACK_NS, &is_wrong);
	run_ns = open_ns + account_growth(on_cpu_ns, known->on_cpu_ns);
	if (grown_ns > run_ns)
		grown_ns = run_ns;
	grown_runs = gc_time_believe(grown_runs, most_runs, 0, &is_wrong);
	earlier_ns = account_growth(grown_ns, open_ns);
	pending->gc_ns += earlier_ns;
	known->unclaimed_ns += grown_ns - earlier_ns;
	/* Whole ones: with the larger part of the time. */
	if (earlier_ns > grown_ns - earlier_ns)
		pending->gc_runs += grown_runs;
	else
		known->unclaimed_runs += grown_runs;
	known->serial = counters->serial;
	known->inside_ns = inside_ns;
	known->runs = counters->gc_runs;
	known->off_cpu_ns = off_cpu_ns;
	known->on_cpu_ns = on_cpu_ns + open_ns;
	known->is_inside = counters->gc_time & 1;
	known->was_none = 0;
	return is_wrong;
}

/* The interval that was open is closed, and is part of what is pending now. */
static inline void gc_time_claim(struct gc_time *known, struct account_totals *pending)
{
	__u64 room_ns = gc_time_room_ns(pending);

	pending->gc_ns += known->unclaimed_ns < room_ns ? known->unclaimed_ns : room_ns;
	pending->gc_runs += known->unclaimed_runs;
	known->unclaimed_ns = 0;
	known->unclaimed_runs = 0;
}

/* No counters are kept of the thread, or it has begun another program: those to come begin with 0.
 */
static inline void gc_time_none(struct gc_time *known)
{
	known->serial = 0;
	known->was_none = 1;
}

/* Other counters may be read from now on: how they stand is not known. */
static inline void gc_time_forget(struct gc_time *known)
{
	known->serial = 0;
	known->was_none = 0;
}

/* What is pending is charged, and 0 from now on. */
static inline void gc_time_charged(struct gc_time *known, const struct account_totals *pending)
{
	known->off_cpu_before_ns = gc_time_off_cpu_ns(known, pending);
	known->on_cpu_before_ns = gc_time_on_cpu_ns(known, pending);
}
