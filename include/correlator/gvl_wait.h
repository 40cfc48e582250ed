/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a thread's time off the CPU that it waited for Ruby's GVL, from the counters that our
 * gem keeps for each Ruby thread (gem_abi.h). Pure: the kernel programs and the unit tests compile
 * this same text. The caller owns all arguments and serialises access to them.
 *
 * The counters grow when a wait ends, on the thread that then runs. The growth is seen at that
 * thread's next boundary that reads, and belongs to the context of that interval: a context changes
 * only while its thread runs Ruby, so a wait begins and ends in the same one. It is capped at the
 * time that the thread was off the CPU in this context since a reading last found it not waiting.
 * So a wait that spans windows is charged in the window in which it ends, and may exceed that
 * window's own time off the CPU; but the sum over a context's windows never does.
 */
#pragma once

#include <linux/types.h>

#include <correlator/account.h>
#include <correlator/gem_abi.h>

enum {
	/* Between our clock and the thread's own reading of it: a switch may come in between. */
	GVL_CLOCK_SLACK_NS = 1000 * 1000,
	/* Minimum length of a wait: two readings of the clock. */
	GVL_WAIT_LEAST_NS = 16,
};

/* Knowledge of a thread's counters, from the last reading. All zeros: none. */
struct gvl_wait {
	__u64 serial; /* of the counters' Ruby thread; 0 = none are kept, or not known */
	__u64 wait_ns; /* wait_ns and waits as last read */
	__u64 waits;
	/* Waits not in the counters yet began then or later. 0 = counters were never looked for. */
	__u64 since_ns;
	/*
	 * off_cpu_ns: time off the CPU in this context that a wait may still claim, as of the last
	 * reading or charge. marked_ns: the pending time off the CPU at that time; growth beyond it
	 * may be claimed, too.
	 */
	__u64 off_cpu_ns;
	__u64 marked_ns;
};

_Static_assert(sizeof(struct gvl_wait) == 6 * 8, "layout");

static inline __u64 gvl_off_cpu_ns(const struct account_totals *pending)
{
	return pending->run_queue_ns + pending->blocked_ns;
}

/* Returns the most time off the CPU that a wait ending now may claim. */
static inline __u64 gvl_wait_claimable(const struct gvl_wait *known,
				       const struct account_totals *pending)
{
	return known->off_cpu_ns + account_growth(gvl_off_cpu_ns(pending), known->marked_ns);
}

/*
 * Takes the thread's counters as read at a boundary. pending: the pending totals of the context
 * that ends or continues there, including the time off the CPU up to here. Returns 0, or 1 if the
 * counters cannot be true: they went back, or grew by more than the time that has passed. Their
 * growth is added all the same, up to the cap.
 */
static inline int gvl_wait_take(struct gvl_wait *known, const struct gem_thread *counters,
				struct account_totals *pending, __u64 now_ns)
{
	__u64 claimable_ns = gvl_wait_claimable(known, pending);
	__u64 passed_ns = account_growth(now_ns, known->since_ns) + GVL_CLOCK_SLACK_NS;
	__u64 grown_ns = 0, grown = 0, open_ns = 0;
	int is_wrong = 0;

	/*
	 * No counters were kept at the last look: they began with 0 since then. Or another native
	 * thread had them before, and their values then are not known (M:N).
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
	/* A wait that continues may claim what is left, up to its own age. */
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

/*
 * The part of a wait from left_ns to entered_ns that was for the GVL, by counters that are read
 * right after it: what they have grown by since the last reading, and the wait that they have not
 * counted yet.
 */
static inline __u64 gvl_wait_within(const struct gvl_wait *known, const struct gem_thread *counters,
				    __u64 left_ns, __u64 entered_ns)
{
	__u64 since_ns = counters->ready_ns > left_ns ? counters->ready_ns : left_ns;

	if (!known->serial || counters->serial != known->serial)
		return 0;
	return account_growth(counters->wait_ns, known->wait_ns) +
	       (counters->ready_ns ? account_growth(entered_ns, since_ns) : 0);
}

/* At now_ns no counters are kept for the thread, or it runs a new program: new counters begin with
 * 0. */
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

/* Different counters may be read from now on: their values so far are not known. */
static inline void gvl_wait_forget(struct gvl_wait *known, const struct account_totals *pending)
{
	known->serial = 0;
	known->since_ns = 0;
	known->off_cpu_ns = 0;
	known->marked_ns = gvl_off_cpu_ns(pending);
}

/*
 * The pending time was charged. kept_ns: the part of the former gvl_wait_claimable() that the same
 * context may still claim: all of it if the context continues, 0 if it has ended.
 */
static inline void gvl_wait_charged(struct gvl_wait *known, __u64 kept_ns)
{
	known->off_cpu_ns = kept_ns;
	known->marked_ns = 0;
}
