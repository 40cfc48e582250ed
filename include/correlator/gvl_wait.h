/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of a thread's time off the CPU it waited for Ruby's GVL, by the counters that our gem
 * keeps of each Ruby thread (gem_abi.h). Pure: the kernel programs and the unit tests compile this
 * same text. The caller owns all that is passed and serialises access to it.
 *
 * A counter grows when a wait ends, on the thread that then runs; what it has grown by is seen at
 * that thread's next boundary that reads, and belongs to the context of that interval: a context
 * changes only where its thread runs Ruby, so a wait begins and ends in one. It is believed up to
 * the time that the thread was off the CPU in this context since it was last read to wait for
 * nothing, and no further: so a wait that spans windows is charged in the one in which it ends, and
 * may there be more than that window's own time off the CPU, but the sum over a context's windows
 * never is.
 */
#pragma once

#include <linux/types.h>

#include <correlator/account.h>
#include <correlator/gem_abi.h>

enum {
	/* Between our clock and the thread's own reading of it, which a switch may come between. */
	GVL_CLOCK_SLACK_NS = 1000 * 1000,
	/* A wait is no shorter: two readings of the clock. */
	GVL_WAIT_LEAST_NS = 16,
};

/* What is known of a thread's counters. All zeros: nothing. */
struct gvl_wait {
	__u64 serial; /* of the Ruby thread that they are of; 0 = they are not kept */
	__u64 wait_ns; /* as they were last read */
	__u64 waits;
	/* What they have not got yet began then or later. 0: nothing was ever looked for. */
	__u64 since_ns;
	/* Time off the CPU in this context that a wait may still claim, before what is pending, of
	 * which marked_ns is not to be had any more. */
	__u64 off_cpu_ns;
	__u64 marked_ns;
};

_Static_assert(sizeof(struct gvl_wait) == 6 * 8, "layout");

static inline __u64 gvl_off_cpu_ns(const struct account_totals *pending)
{
	return pending->run_queue_ns + pending->blocked_ns;
}

/* So much a wait that ends now may have been off the CPU. */
static inline __u64 gvl_wait_claimable(const struct gvl_wait *known,
				       const struct account_totals *pending)
{
	return known->off_cpu_ns + account_growth(gvl_off_cpu_ns(pending), known->marked_ns);
}

/*
 * The thread's counters as they were read at a boundary; pending: what is pending of the context
 * that ends there or goes on, with the time off the CPU up to here. 0, or 1: they cannot be true,
 * since they went back or grew by more than has passed. What they claim is charged all the same, as
 * far as it may be.
 */
static inline int gvl_wait_take(struct gvl_wait *known, const struct gem_thread *counters,
				struct account_totals *pending, __u64 now_ns)
{
	__u64 claimable_ns = gvl_wait_claimable(known, pending);
	__u64 passed_ns = account_growth(now_ns, known->since_ns) + GVL_CLOCK_SLACK_NS;
	__u64 grown_ns = 0, grown = 0, open_ns = 0;
	int is_wrong = 0;

	/*
	 * None were kept when it was last looked for: they began with 0 since then; or another
	 * native thread had them before, and how they stood is not known (M:N).
	 */
	if (!known->serial && known->since_ns && counters->wait_ns <= passed_ns &&
	    counters->waits <= passed_ns / GVL_WAIT_LEAST_NS)
		known->serial = counters->serial;
	if (counters->serial == known->serial) {
		is_wrong = counters->wait_ns < known->wait_ns || counters->waits < known->waits;
		grown_ns = account_growth(counters->wait_ns, known->wait_ns);
		grown = account_growth(counters->waits, known->waits);
	}
	if (grown_ns > passed_ns || grown > passed_ns / GVL_WAIT_LEAST_NS) {
		is_wrong = 1;
		if (grown > passed_ns / GVL_WAIT_LEAST_NS)
			grown = passed_ns / GVL_WAIT_LEAST_NS;
	}
	if (grown_ns > claimable_ns)
		grown_ns = claimable_ns;
	pending->gvl_ns += grown_ns;
	pending->gvl_waits += grown;
	/* One that goes on may be as old as it says, of what is left. */
	if (counters->ready_ns)
		open_ns = account_growth(now_ns, counters->ready_ns);
	known->since_ns = now_ns - open_ns;
	known->off_cpu_ns = claimable_ns - grown_ns;
	if (known->off_cpu_ns > open_ns)
		known->off_cpu_ns = open_ns;
	known->marked_ns = gvl_off_cpu_ns(pending);
	known->wait_ns = counters->wait_ns;
	known->waits = counters->waits;
	known->serial = counters->serial;
	return is_wrong;
}

/* At now_ns no counters are kept of the thread, or it has begun another program: those to come
 * begin with 0. */
static inline void gvl_wait_none(struct gvl_wait *known, const struct account_totals *pending,
				 __u64 now_ns)
{
	known->serial = 0;
	known->wait_ns = 0;
	known->waits = 0;
	known->since_ns = now_ns;
	known->off_cpu_ns = 0;
	known->marked_ns = gvl_off_cpu_ns(pending);
}

/* Other counters may be read from now on: how they stand is not known. */
static inline void gvl_wait_forget(struct gvl_wait *known, const struct account_totals *pending)
{
	known->serial = 0;
	known->since_ns = 0;
	known->off_cpu_ns = 0;
	known->marked_ns = gvl_off_cpu_ns(pending);
}

/*
 * What was pending is charged. kept_ns: of gvl_wait_claimable() before, what the same context may
 * still claim: all if it goes on, 0 if it has ended.
 */
static inline void gvl_wait_charged(struct gvl_wait *known, __u64 kept_ns)
{
	known->off_cpu_ns = kept_ns;
	known->marked_ns = 0;
}
