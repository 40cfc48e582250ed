/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a thread's CPU time spent in garbage collections, from the counters that our gem
 * keeps for each Ruby thread (gem_abi.h). Pure: the kernel programs and the unit tests compile this
 * same text. The caller owns all arguments and serialises access to them.
 *
 * The gem's clock keeps running while the thread is off the CPU. So the counters are read whenever
 * the thread leaves its CPU, and its time off the CPU since a reading in the middle of a step is
 * subtracted. A step in progress is counted up to the reading, so that each window has its own
 * part.
 *
 * Growth of the counters belongs to the interval that is open at the reading, up to its length, and
 * the rest to what was pending before that: by the rule of attribution, like the CPU time of which
 * it is part. It is capped at that CPU time, and at the time run since the last reading: a thread
 * that loses its CPU between reading the clock and the store that follows does not appear to be in
 * a step then. Within that cap, theft in the middle of a step counts as part of it: it is known how
 * much was stolen from an interval, but not when.
 */
#pragma once

#include <linux/types.h>

#include <correlator/account.h>
#include <correlator/gem_abi.h>

enum {
	/* Between our clock and the thread's own reading of it: a switch may come in between. */
	GC_CLOCK_SLACK_NS = 1000 * 1000,
	/* Minimum length of a collection: marking the roots alone takes longer. */
	GC_RUN_LEAST_NS = 1000,
};

/* Knowledge of a thread's counters, from the last reading. All zeros: none. */
struct gc_time {
	__u64 serial; /* of the counters' Ruby thread; 0 = none are kept, or not known */
	__u64 inside_ns; /* as last read: time in collections, including off the CPU */
	__u64 runs;
	__u64 off_cpu_ns; /* total time off the CPU at the last reading, including pending time */
	__u64 on_cpu_ns; /* total time on the CPU then, with pending time and the open interval */
	__u64 unclaimed_ns; /* growth that belongs to the open interval */
	__u64 unclaimed_runs;
	__u64 off_cpu_before_ns; /* total time off the CPU, except pending time */
	__u64 on_cpu_before_ns; /* total time on the CPU, except pending time */
	__u32 is_inside; /* the last reading was in the middle of a step */
	__u32 was_none; /* no counters were kept at the last look: new ones begin with 0 */
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

/* Pending CPU time that no collection has claimed. */
static inline __u64 gc_time_room_ns(const struct account_totals *pending)
{
	return account_growth(account_on_cpu(pending), pending->gc_ns);
}

static inline __u64 gc_time_inside_ns(const struct gem_thread *counters, __u64 now_ns)
{
	__u64 ns = counters->gc_time >> 1;

	return counters->gc_time & 1 ? (now_ns - ns) << 1 >> 1 : ns;
}

/* Caps grown at `most`; sets *is_wrong if it is larger by more than slack. */
static inline __u64 gc_time_believe(__u64 grown, __u64 most, __u64 slack, int *is_wrong)
{
	if (grown > most + slack)
		*is_wrong = 1;
	return grown < most ? grown : most;
}

/*
 * Takes the thread's counters as read at a boundary that closes an interval on the CPU, open for
 * open_ns. pending: the pending totals, including the time off the CPU up to here. Returns 0, or 1
 * if the counters cannot be true: they went back, or grew by more than the thread ran. Their growth
 * is added all the same, up to the cap.
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
	/* Runs are not split: they go with the larger part of the time. */
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

/* The open interval was closed and is part of the pending totals now: adds its part to them. */
static inline void gc_time_claim(struct gc_time *known, struct account_totals *pending)
{
	__u64 room_ns = gc_time_room_ns(pending);

	pending->gc_ns += known->unclaimed_ns < room_ns ? known->unclaimed_ns : room_ns;
	pending->gc_runs += known->unclaimed_runs;
	known->unclaimed_ns = 0;
	known->unclaimed_runs = 0;
}

/* No counters are kept for the thread, or it runs a new program: new counters begin with 0. */
static inline void gc_time_none(struct gc_time *known)
{
	known->serial = 0;
	known->was_none = 1;
}

/* Different counters may be read from now on: their values so far are not known. */
static inline void gc_time_forget(struct gc_time *known)
{
	known->serial = 0;
	known->was_none = 0;
}

/* Pending time is charged: call before the pending totals are cleared. */
static inline void gc_time_charged(struct gc_time *known, const struct account_totals *pending)
{
	known->off_cpu_before_ns = gc_time_off_cpu_ns(known, pending);
	known->on_cpu_before_ns = gc_time_on_cpu_ns(known, pending);
}
