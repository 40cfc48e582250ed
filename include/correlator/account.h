/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic of the books: how the time of one thread between two boundaries becomes totals.
 * Pure: the kernel programs, the unit tests and BPF_PROG_TEST_RUN compile this same text. All times
 * are nanoseconds. The caller owns both structs and serialises access to them.
 *
 *   interval   mark_ns .. now, closed at each boundary, in one mode
 *   on CPU     the clock splits it into user and kernel; their sum is corrected to the kernel's
 *              own se.sum_exec_runtime, read at switch-out
 *   off CPU    growth of sched_info.run_delay is run-queue time, the rest of the gap is blocked
 *   stolen     clock time beyond exec runtime: taken by the hypervisor or interrupts
 *
 * So for every thread: user + kernel = growth of exec runtime, and user + kernel + stolen + run
 * queue + blocked = wall time.
 *
 * Sources: kernel/sched/core.c __schedule() (v6.18): exec runtime and switch counts of `prev` are
 * final at the sched_switch tracepoint; kernel/sched/stats.h sched_info_arrive(): run_delay of
 * `next` grows after it.
 */
#pragma once

#include <linux/types.h>

#include <correlator/blocked_reason.h>

enum thread_mode {
	THREAD_MODE_USER = 0,
	THREAD_MODE_KERNEL = 1,
};

/* Why a thread is off the CPU. If it sleeps, the same word also holds what it is blocked on. */
enum off_cpu_reason {
	OFF_CPU_RUNNABLE = 0, /* preempted, yielded, or new: waiting for a CPU */
	OFF_CPU_SLEEPING = 1, /* interruptible sleep, stopped */
	OFF_CPU_UNINTERRUPTIBLE = 2, /* TASK_UNINTERRUPTIBLE: disk, its page faults, some locks */
};

enum {
	OFF_CPU_FOR_GVL = 1 << 16, /* in an off_reason: it sleeps until it gets Ruby's GVL */
};

/* Returns an off_reason: how the thread sleeps, and on what (enum blocked_reason). */
static inline __u32 off_cpu_blocked(enum off_cpu_reason how, __u32 on)
{
	return (__u32)how | on << 8;
}

static inline __u32 off_cpu_is_uninterruptible(__u32 off_reason)
{
	return (off_reason & 0xff) == OFF_CPU_UNINTERRUPTIBLE;
}

static inline __u32 off_cpu_blocked_on(__u32 off_reason)
{
	return off_reason >> 8 & 0xff;
}

/* Returns 1 or 0. */
static inline __u64 off_cpu_is_for_gvl(__u32 off_reason)
{
	return off_reason / OFF_CPU_FOR_GVL & 1;
}

enum {
	/* Reasons with a total of their own; that of BLOCKED_ON_OTHER is the rest of blocked_ns. */
	BLOCKED_REASONS_KEPT = _BLOCKED_REASON_MAX - 1
};

_Static_assert((BLOCKED_REASONS_KEPT & (BLOCKED_REASONS_KEPT - 1)) == 0, "blocked_index() masks");

/*
 * The totals of an account, in the order of struct account_totals; a cpu record has each under the
 * same name. SPLIT(type, name) marks the two that userspace corrects before it writes them
 * (recorder/observe/window/split.h), TOTAL(type, name) the ones that it writes unchanged. The
 * struct, the sums below, the overflow of a process, its growth and the record are generated from
 * this list.
 *
 *   user_ns, kernel_ns    on a CPU
 *   run_queue_ns          runnable, waiting for a CPU
 *   blocked_ns            asleep; uninterruptible_ns is part of it
 *   ambiguous_ns          part of user_ns + kernel_ns in which the context changed, or may have
 *   slices                stints on a CPU in one context
 *   stolen_ns             signed: the ends of a stint are off by the duration of a switch
 *   gvl_ns                part of run_queue_ns + blocked_ns; gvl_wait.h, or by OFF_CPU_FOR_GVL
 *   gc_ns                 part of user_ns + kernel_ns; gc_time.h
 */
#define ACCOUNT_TOTALS(SPLIT, TOTAL)       \
	SPLIT(__u64, user_ns)              \
	SPLIT(__u64, kernel_ns)            \
	TOTAL(__u64, run_queue_ns)         \
	TOTAL(__u64, blocked_ns)           \
	TOTAL(__u64, uninterruptible_ns)   \
	TOTAL(__u64, ambiguous_ns)         \
	TOTAL(__u64, slices)               \
	TOTAL(__u64, switches_voluntary)   \
	TOTAL(__u64, switches_involuntary) \
	TOTAL(__u64, migrations)           \
	TOTAL(__u64, syscalls)             \
	TOTAL(__s64, stolen_ns)            \
	TOTAL(__u64, gvl_ns)               \
	TOTAL(__u64, gvl_waits)            \
	TOTAL(__u64, gc_ns)                \
	TOTAL(__u64, gc_runs)

struct account_totals {
#define ACCOUNT_MEMBER(type, name) type name;
	ACCOUNT_TOTALS(ACCOUNT_MEMBER, ACCOUNT_MEMBER)
#undef ACCOUNT_MEMBER
	__u64 blocked_on_ns[BLOCKED_REASONS_KEPT]; /* parts of blocked_ns, by reason - 1 */
};

#define ACCOUNT_COUNT(type, name) +1
_Static_assert(sizeof(struct account_totals) ==
		       (ACCOUNT_TOTALS(ACCOUNT_COUNT, ACCOUNT_COUNT) + BLOCKED_REASONS_KEPT) * 8,
	       "layout");
#undef ACCOUNT_COUNT

struct thread_clock {
	__u64 mark_ns; /* start of the open interval */
	__u64 stolen_mark_ns; /* its CPU's stolen time taken out so far; UINT64_MAX = not known */
	__u64 exec_mark_ns; /* sum_exec_runtime at the last switch-out */
	__u64 exec_ahead_ns; /* on-CPU time charged by the clock beyond exec_mark_ns */
	__u64 exec_owed_ns; /* exec_ahead_ns that was left when the thread last left its CPU */
	__u64 run_delay_mark_ns; /* run_delay up to here is charged */
	__u64 gap_ns; /* off-CPU time not split by run_delay yet */
	__u64 voluntary_mark;
	__u64 involuntary_mark;
	__u32 mode; /* enum thread_mode, also while off the CPU */
	/* The current or last gap has: enum off_cpu_reason, or off_cpu_blocked(), then perhaps with
	 * OFF_CPU_FOR_GVL. */
	__u32 off_reason;
	__u32 is_off_cpu;

	__u32 last_cpu; /* CPU + 1; 0 = not seen on one */
	__u32 blocked_on; /* enum blocked_reason of the time last added to blocked_ns */
	__u32 has_not_run; /* first seen off the CPU, and not run since */
};

_Static_assert(sizeof(struct thread_clock) == 9 * 8 + 6 * 4, "layout");

/* The kernel's own figures for a thread at a boundary. */
struct kernel_figures {
	__u64 exec_ns; /* se.sum_exec_runtime */
	__u64 run_delay_ns; /* sched_info.run_delay */
	__u64 voluntary; /* nvcsw */
	__u64 involuntary; /* nivcsw */
};

/*
 * Growth of a mark: now - before, or 0 if now is the earlier one, so a mark never goes back. now
 * can be earlier if a program reads the clock and then loses the CPU (to an interrupt, a switch, or
 * the hypervisor) before it takes the books: these may be written up past now by then.
 *
 * Without a branch: the kernel's verifier would follow both outcomes at each of dozens of places.
 */
static inline __u64 account_growth(__u64 now, __u64 before)
{
	__u64 grown = now - before;
	/* The borrow is bit 63. */
	__u64 borrow = (~now & before) | (~(now ^ before) & grown);

	/* Otherwise the compiler recognises the comparison and emits a branch. */
	__asm__("" : "+r"(borrow));
	return grown & ~(__u64)((__s64)borrow >> 63);
}

static inline void account_add_on_cpu(struct account_totals *totals, __u32 mode, __u64 ns)
{
	if (mode == THREAD_MODE_KERNEL)
		totals->kernel_ns += ns;
	else
		totals->user_ns += ns;
}

static inline __u64 account_on_cpu(const struct account_totals *totals)
{
	return totals->user_ns + totals->kernel_ns;
}

/* Adds ns of the clock's current or last gap as time asleep, under its off_reason. */
static inline void account_add_blocked(struct thread_clock *clock, struct account_totals *totals,
				       __u64 ns)
{
	__u32 kept = off_cpu_blocked_on(clock->off_reason) - 1;

	totals->blocked_ns += ns;
	if (off_cpu_is_uninterruptible(clock->off_reason))
		totals->uninterruptible_ns += ns;
	if (kept < BLOCKED_REASONS_KEPT)
		totals->blocked_on_ns[blocked_index(kept, BLOCKED_REASONS_KEPT)] += ns;
	clock->blocked_on = off_cpu_blocked_on(clock->off_reason);
}

/*
 * Takes up to ns out of the on-CPU time in totals (pending, or an account's): time that the clock
 * counted but the thread did not run. Returns the time taken. Takes it from the larger of user and
 * kernel time first: steal time hits at random.
 */
static inline __u64 account_take_out(struct account_totals *totals, __u64 ns)
{
	int is_user_first = totals->user_ns >= totals->kernel_ns;
	__u64 *first = is_user_first ? &totals->user_ns : &totals->kernel_ns;
	__u64 *second = is_user_first ? &totals->kernel_ns : &totals->user_ns;
	__u64 from_first = ns < *first ? ns : *first;
	__u64 from_second = ns - from_first < *second ? ns - from_first : *second;

	*first -= from_first;
	*second -= from_second;
	if (totals->gc_ns > account_on_cpu(totals))
		totals->gc_ns = account_on_cpu(totals);
	totals->ambiguous_ns -= account_growth(totals->ambiguous_ns, account_on_cpu(totals));
	totals->stolen_ns += (__s64)(from_first + from_second);
	return from_first + from_second;
}

/*
 * At a boundary that charges: takes out what was stolen from this CPU since the thread got it, or
 * since the last call. stolen_ns: stolen from this CPU since boot. Takes at most exec_ahead_ns, so
 * only time of this stint, and at most what totals hold. The rest is left for the next call: time
 * before this stint already matches exec runtime.
 */
static inline void account_settle_stolen(struct thread_clock *clock, struct account_totals *totals,
					 __u64 stolen_ns)
{
	__u64 growth_ns, taken_ns;

	if (clock->stolen_mark_ns == ~0ULL)
		clock->stolen_mark_ns = stolen_ns;
	growth_ns = account_growth(stolen_ns, clock->stolen_mark_ns);
	if (growth_ns > clock->exec_ahead_ns)
		growth_ns = clock->exec_ahead_ns;
	taken_ns = account_take_out(totals, growth_ns);
	clock->stolen_mark_ns += taken_ns;
	clock->exec_ahead_ns -= taken_ns;
}

/*
 * Returns the exec runtime that a running thread had when its run queue's task clock read clock_ns,
 * from the scheduler's two figures: exec_ns = se.sum_exec_runtime is current up to start_ns =
 * se.exec_start. start_ns may be later than clock_ns: a wake-up by another CPU updates both
 * figures.
 */
static inline __u64 account_exec_as_of(__u64 clock_ns, __u64 exec_ns, __u64 start_ns)
{
	return account_growth(exec_ns + account_growth(clock_ns, start_ns),
			      account_growth(start_ns, clock_ns));
}

/*
 * Begins the books of a thread at first sight; its time before that is not charged to anybody.
 * figures->exec_ns of a running thread must be brought up to now: se.sum_exec_runtime is up to a
 * tick old.
 */
static inline void account_begin(struct thread_clock *clock, const struct kernel_figures *figures,
				 __u64 now_ns, __u32 is_off_cpu, __u32 off_reason, __u32 mode)
{
	clock->mark_ns = now_ns;
	clock->stolen_mark_ns = ~0ULL;
	clock->exec_mark_ns = figures->exec_ns;
	clock->exec_ahead_ns = 0;
	clock->exec_owed_ns = 0;
	clock->run_delay_mark_ns = figures->run_delay_ns;
	clock->gap_ns = 0;
	clock->voluntary_mark = figures->voluntary;
	clock->involuntary_mark = figures->involuntary;
	clock->mode = mode;
	clock->off_reason = off_reason;
	clock->is_off_cpu = is_off_cpu;

	clock->last_cpu = 0;
	clock->blocked_on = BLOCKED_ON_OTHER;
	clock->has_not_run = is_off_cpu;
}

/* Whether account_settle_gap() has something to do. */
static inline __u32 account_has_gap(const struct thread_clock *clock)
{
	return clock->gap_ns || clock->has_not_run;
}

/*
 * Splits the last gap into run-queue and blocked time once the thread is seen running again. Call
 * before anything else at each boundary of a running thread. Run-queue time that a flush has
 * charged early is not charged again. Nor is the time that a thread had waited for its CPU before
 * it was first seen: the kernel adds that to run_delay once the thread has the CPU.
 */
static inline void account_settle_gap(struct thread_clock *clock, struct account_totals *totals,
				      __u64 run_delay_ns)
{
	__u64 queued;

	if (!account_has_gap(clock))
		return;
	queued = account_growth(run_delay_ns, clock->run_delay_mark_ns);
	/* A runnable thread was never asleep: its gap is all run-queue time, though run_delay, by
	 * the run queue's clock, is a little shorter. */
	if (queued > clock->gap_ns || clock->off_reason == OFF_CPU_RUNNABLE)
		queued = clock->gap_ns;
	totals->run_queue_ns += queued;
	/* With its time in the run queue: it has been handed the GVL then, but cannot use it. */
	totals->gvl_ns += clock->gap_ns & -off_cpu_is_for_gvl(clock->off_reason);
	if (clock->gap_ns > queued)
		account_add_blocked(clock, totals, clock->gap_ns - queued);
	clock->run_delay_mark_ns = run_delay_ns;
	clock->gap_ns = 0;
	clock->has_not_run = 0;
}

/*
 * At a boundary inside a stint of a running thread: closes the open interval by the clock, in the
 * mode that ends; next_mode begins. Returns the interval's length.
 */
static inline __u64 account_edge(struct thread_clock *clock, struct account_totals *totals,
				 __u64 now_ns, __u32 next_mode)
{
	__u64 open_ns = account_growth(now_ns, clock->mark_ns);
	/* Off the CPU: a switch-in was missed. When the thread began to run is not known; exec
	 * runtime makes up for it. */
	__u64 interval_ns = clock->is_off_cpu ? 0 : open_ns;

	clock->is_off_cpu = 0;
	account_add_on_cpu(totals, clock->mode, interval_ns);
	clock->exec_ahead_ns += interval_ns;
	clock->mark_ns += open_ns;
	clock->mode = next_mode;
	return interval_ns;
}

/*
 * The boundaries inside one stint in one context, kept apart from the thread's books so that a
 * system call's edge touches little memory: opened from the books, updated at each edge, folded
 * back.
 */
struct edge_times {
	__u64 mark_ns;
	__u64 user_ns;
	__u64 kernel_ns;
	__u64 syscalls;
	__u32 mode; /* enum thread_mode */
	__u32 reserved;
};

_Static_assert(sizeof(struct edge_times) == 5 * 8, "layout");

static inline void account_edges_open(struct edge_times *edges, const struct thread_clock *clock)
{
	edges->mark_ns = clock->mark_ns;
	edges->user_ns = 0;
	edges->kernel_ns = 0;
	edges->syscalls = 0;
	edges->mode = clock->mode;
}

/* As account_edge(), for a thread on the CPU. */
static inline void account_edges_pass(struct edge_times *edges, __u64 now_ns, __u32 next_mode)
{
	__u64 interval_ns = account_growth(now_ns, edges->mark_ns);

	if (edges->mode == THREAD_MODE_KERNEL)
		edges->kernel_ns += interval_ns;
	else
		edges->user_ns += interval_ns;
	edges->mark_ns += interval_ns;
	edges->mode = next_mode;
}

static inline void account_edges_fold(const struct edge_times *edges, struct thread_clock *clock,
				      struct account_totals *totals)
{
	totals->user_ns += edges->user_ns;
	totals->kernel_ns += edges->kernel_ns;
	totals->syscalls += edges->syscalls;
	clock->exec_ahead_ns += edges->user_ns + edges->kernel_ns;
	clock->mark_ns = edges->mark_ns;
	clock->mode = edges->mode;
}

/*
 * For a thread that has left its CPU: takes the time charged beyond its exec runtime
 * (exec_ahead_ns) out of totals, at most what they hold. The rest is owed (exec_owed_ns). Returns
 * the time taken.
 */
static inline __u64 account_give_back(struct thread_clock *clock, struct account_totals *totals)
{
	__u64 taken_ns = 0;

	if (clock->exec_ahead_ns)
		taken_ns = account_take_out(totals, clock->exec_ahead_ns);
	clock->exec_ahead_ns -= taken_ns;
	clock->exec_owed_ns = clock->exec_ahead_ns;
	return taken_ns;
}

/* Drops the time that is owed: no later stint makes up for it. */
static inline void account_forgive(struct thread_clock *clock)
{
	clock->exec_ahead_ns = 0;
	clock->exec_owed_ns = 0;
}

/*
 * The thread leaves the CPU. The open interval gets the length that brings the stint to the
 * kernel's exec runtime. If the clock has run ahead of exec runtime (stolen time, or a last
 * interval shorter than the path from the runqueue clock to here), the interval gets 0, the excess
 * is taken out of totals, and what they do not hold is kept for the next stint. Returns the length
 * of the interval as charged.
 */
static inline __attribute__((always_inline)) __u64
account_switch_out_inlined(struct thread_clock *clock, struct account_totals *totals, __u64 now_ns,
			   const struct kernel_figures *figures, __u32 off_reason)
{
	__u64 on_cpu_ns = account_growth(figures->exec_ns, clock->exec_mark_ns);
	__u64 clock_ns = account_growth(now_ns, clock->mark_ns);
	__u64 interval_ns = account_growth(on_cpu_ns, clock->exec_ahead_ns);

	clock->exec_ahead_ns = account_growth(clock->exec_ahead_ns, on_cpu_ns);
	(void)account_give_back(clock, totals);
	totals->stolen_ns += (__s64)(clock_ns - interval_ns);
	account_add_on_cpu(totals, clock->mode, interval_ns);
	totals->slices++;
	totals->gvl_waits += off_cpu_is_for_gvl(off_reason);
	totals->switches_voluntary += account_growth(figures->voluntary, clock->voluntary_mark);
	totals->switches_involuntary +=
		account_growth(figures->involuntary, clock->involuntary_mark);
	clock->exec_mark_ns = figures->exec_ns;
	clock->voluntary_mark = figures->voluntary;
	clock->involuntary_mark = figures->involuntary;
	clock->mark_ns += clock_ns;
	clock->off_reason = off_reason;
	clock->is_off_cpu = 1;
	return interval_ns;
}

/* The same where the time of a call does not matter. */
static inline __u64 account_switch_out(struct thread_clock *clock, struct account_totals *totals,
				       __u64 now_ns, const struct kernel_figures *figures,
				       __u32 off_reason)
{
	return account_switch_out_inlined(clock, totals, now_ns, figures, off_reason);
}

/*
 * For a thread that is about to get a CPU and whose last switch-out was not reported: it ran until
 * its exec runtime reached figures->exec_ns, and was off the CPU for the rest of the open interval.
 */
static inline void account_leave_unseen(struct thread_clock *clock, struct account_totals *totals,
					__u64 now_ns, const struct kernel_figures *figures)
{
	__u64 on_cpu_ns = account_growth(figures->exec_ns, clock->exec_mark_ns);
	__u64 ran_ns = account_growth(on_cpu_ns, clock->exec_ahead_ns);
	__u64 open_ns = account_growth(now_ns, clock->mark_ns);

	if (ran_ns > open_ns)
		ran_ns = open_ns;
	/* The gap before the stint may not be split yet; the one that ends now is not in run_delay
	 * yet. */
	account_settle_gap(clock, totals, figures->run_delay_ns);
	(void)account_switch_out(clock, totals, clock->mark_ns + ran_ns, figures, OFF_CPU_SLEEPING);
}

enum {
	/* Only a clock that has stepped is behind the books by more. */
	SWITCH_LATE_MAX_NS = 10 * 1000 * 1000
};

/*
 * The thread gets a CPU: the gap is measured now and split at the next boundary. stolen_ns: stolen
 * from that CPU since boot. now_ns may be behind the books: a flush writes the thread up past
 * now_ns if the hypervisor takes the CPU after the run queue's clock was read for the switch. Exec
 * runtime counts from now_ns on, so the clock's on-CPU time begins there, too.
 */
static inline void account_switch_in(struct thread_clock *clock, struct account_totals *totals,
				     __u64 now_ns, __u64 stolen_ns, __u32 cpu)
{
	__u64 open_ns = account_growth(now_ns, clock->mark_ns);
	__u64 late_ns = account_growth(clock->mark_ns, now_ns);

	if (clock->is_off_cpu)
		clock->gap_ns += open_ns;
	late_ns -= account_growth(late_ns, SWITCH_LATE_MAX_NS);
	account_add_on_cpu(totals, clock->mode, late_ns);
	totals->stolen_ns -= (__s64)late_ns;
	clock->exec_ahead_ns += late_ns;
	if (clock->last_cpu && clock->last_cpu != cpu + 1)
		totals->migrations++;
	clock->last_cpu = cpu + 1;
	clock->mark_ns += open_ns;
	clock->stolen_mark_ns = stolen_ns;
	clock->is_off_cpu = 0;
}

/*
 * account_switch_in() for a running thread whose switch-in was not reported. ran_ns: how long ago
 * it got the CPU, by the scheduler's own figures; not earlier than the last write-up.
 */
static inline __attribute__((always_inline)) void
account_enter_unseen(struct thread_clock *clock, struct account_totals *totals, __u64 now_ns,
		     __u64 ran_ns, __u64 stolen_ns, __u32 cpu)
{
	__u64 open_ns = account_growth(now_ns, clock->mark_ns);

	if (ran_ns > open_ns)
		ran_ns = open_ns;
	account_switch_in(clock, totals, clock->mark_ns + open_ns - ran_ns, stolen_ns, cpu);
}

/*
 * Returns the time that had been stolen from a CPU when the thread that runs there got it.
 * arrived_ns: the run queue's clock at that time, which is ahead of its task clock by the stolen
 * time. exec_before_ns, exec_ns: the thread's exec runtime before that and at its last update.
 * exec_start_ns: the run queue's task clock at that update.
 */
static inline __u64 account_stolen_at_arrival(__u64 arrived_ns, __u64 exec_before_ns, __u64 exec_ns,
					      __u64 exec_start_ns)
{
	return account_growth(arrived_ns + account_growth(exec_ns, exec_before_ns), exec_start_ns);
}

/*
 * Returns the part of told_ns that was certainly stolen before a boundary. told_ns: stolen time
 * that the host has reported and the CPU's task clock does not exclude yet. passed_ns: from the run
 * queue's clock to the boundary. since_ns: from the boundary to after told_ns was read. The rest is
 * taken out next time.
 */
static inline __u64 account_stolen_before(__u64 told_ns, __u64 passed_ns, __u64 since_ns)
{
	__u64 before_ns = account_growth(told_ns, since_ns);

	return before_ns < passed_ns ? before_ns : passed_ns;
}

/*
 * At a flush: charges an off-CPU gap that is still open. is_runnable: the thread waits for a CPU
 * now. If it slept and was woken, part of its gap is run-queue time, which run_delay shows only
 * once it runs: such a gap is left open. Returns the time charged.
 */
static inline __u64 account_collect(struct thread_clock *clock, struct account_totals *totals,
				    __u64 now_ns, __u32 is_runnable)
{
	__u64 open_ns = account_growth(now_ns, clock->mark_ns);

	if (!clock->is_off_cpu)
		return 0;
	if (clock->off_reason == OFF_CPU_RUNNABLE) {
		totals->run_queue_ns += open_ns;
		clock->run_delay_mark_ns += open_ns;
	} else if (!is_runnable) {
		account_add_blocked(clock, totals, open_ns);
		totals->gvl_ns += open_ns & -off_cpu_is_for_gvl(clock->off_reason);
	} else {
		return 0;
	}
	clock->mark_ns += open_ns;
	return open_ns;
}

/*
 * Returns the exec runtime to publish for the balance; published_ns was published last. It is
 * exec_ns, the kernel's own figure, plus what is owed, which the next stint makes up for.
 *
 * The published figure of a running thread was brought up to now by the clock, so stolen time that
 * is reported later can leave the kernel's figure below it. Then the figure goes back by the time
 * that the accounts gave up. The time that they could not give up is still charged, and the next
 * stint makes up for both.
 */
static inline __u64 account_exec_figure(const struct thread_clock *clock, __u64 published_ns,
					__u64 exec_ns)
{
	__u64 charged_ns = clock->exec_mark_ns + clock->exec_ahead_ns;

	exec_ns += clock->exec_owed_ns;
	if (exec_ns >= published_ns)
		return exec_ns;
	if (exec_ns < charged_ns)
		exec_ns = charged_ns;
	return exec_ns < published_ns ? exec_ns : published_ns;
}

static inline void account_fold_reasons(struct account_totals *into,
					const struct account_totals *from)
{
	for (int i = 0; i < BLOCKED_REASONS_KEPT; i++)
		into->blocked_on_ns[i] += from->blocked_on_ns[i];
}

static inline void account_fold(struct account_totals *into, const struct account_totals *from)
{
#define ACCOUNT_ADD(type, name) into->name += from->name;
	ACCOUNT_TOTALS(ACCOUNT_ADD, ACCOUNT_ADD)
#undef ACCOUNT_ADD
	/* Most context changes come without a sleep. */
	if (from->blocked_ns)
		account_fold_reasons(into, from);
}

/* The part of blocked_ns with this reason; the parts of all reasons add up to blocked_ns. */
static inline __u64 account_blocked_on_ns(const struct account_totals *totals,
					  enum blocked_reason reason)
{
	__u64 other_ns = totals->blocked_ns;

	if (reason != BLOCKED_ON_OTHER)
		return totals->blocked_on_ns[reason - 1];
	for (int i = 0; i < BLOCKED_REASONS_KEPT; i++)
		other_ns -= totals->blocked_on_ns[i];
	return other_ns;
}
