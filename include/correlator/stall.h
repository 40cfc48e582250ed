/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stalls: a thread in a context that was off its CPU for longer than a limit, told once it runs
 * again, as one message, over all windows that the wait spans. Its two parts are the growth of the
 * thread's pending totals, so they are what its accounts were charged. Pure: the kernel programs
 * and the unit tests compile this same text. The caller holds the thread's books, except for
 * stall_is_long(). Times are CLOCK_MONOTONIC, ns.
 *
 * And hogs: a fiber that kept its thread for longer than the limit, on the CPU or off it, while
 * other fibers of the thread may have been ready. Between two probes, which a thread passes at each
 * change of context, only one fiber runs.
 */
#pragma once

#include <linux/types.h>

#include <correlator/account.h>
#include <correlator/limits.h>
#include <correlator/pace.h>
#include <correlator/socket_end.h>

enum stall_sizes {
	STALL_NAMES = 16, /* steps up a path: names and mounts */
	STALL_NAME_BYTES = 64, /* of each, with the final NUL; more is cut */
	STALL_RING_BYTES = 2 * 1024 * 1024,
};

enum stall_flags {
	STALL_WAS_WOKEN = 1 << 0, /* it slept, and was woken; else it was preempted */
	/* By an interrupt: a timer, a packet, a disk. Otherwise by a task, if waker_tgid is set. */
	STALL_BY_INTERRUPT = 1 << 1,
	STALL_IS_INHERITED = 1 << 2, /* as ACCOUNT_INHERITED */
	STALL_IS_OF_ORIGIN = 1 << 3, /* as ACCOUNT_OF_ORIGIN */
	/* A fiber kept its thread: only times, context, thread and stack are set. */
	STALL_IS_HOG = 1 << 4,
	STALL_STACK_IS_SAMPLED = 1 << 5, /* of a hog: the stack is a sample's, not a wait's */
	/* The object is no epoll set, but the file in it that became ready and ended the wait. */
	STALL_OBJECT_IS_IN_SET = 1 << 6,
	/* The interrupt was a device's or a timer's own, or a software one; neither: not known. */
	STALL_BY_HARDIRQ = 1 << 7,
	STALL_BY_SOFTIRQ = 1 << 8,
};

/* The file that a thread waits on. */
enum stall_object {
	STALL_OBJECT_NONE = 0, /* not on one file, or not known */
	STALL_OBJECT_PATH = 1, /* names, from the last one up; "" for a step over a mount */
	STALL_OBJECT_PIPE = 2, /* without a name: inode */
	STALL_OBJECT_UNIX = 3, /* names[0] on: path of the socket; "": it has none */
	STALL_OBJECT_ADDRESS = 4, /* peer */
	STALL_OBJECT_MAPPED = 5, /* of a page fault: inode and device */
};

/* The message. */
struct stall {
	__u64 start_ns; /* it left its CPU; of a hog: the fiber got the thread, in this context */
	__u64 end_ns; /* it got one again; of a hog: it left the thread, or this context */
	__u64 cpu_ns; /* of a hog */
	__u64 blocked_ns;
	__u64 run_queue_ns;
	__u64 gvl_ns; /* part of both: it waited for the GVL; 0 = it did not, or not known */
	__u64 context_hash;
	__u64 waker_hash; /* the waker's context; 0 = none, or not known */
	__u64 thread_serial;
	__u64 life; /* of the thread's process (life.h) */
	__u64 inode; /* STALL_OBJECT_PIPE, STALL_OBJECT_MAPPED */
	/* In which it waited, with --stacks=off-cpu (stacks.h); of a hog: hog_place(). */
	__u64 stack;
	__u64 tip;
	__u32 tid; /* ids in the observer's pid namespace; 0 = not known */
	__u32 ns_tid; /* in the thread's own pid namespace */
	__u32 waker_tgid;
	__u32 waker_tid;
	/* The thread that got its CPU when it was preempted; if it was woken, the one that ran just
	 * before it; 0 = none. */
	__u32 other_tgid;
	__u32 other_tid;
	__u32 epoch; /* the window that its last part is charged to */
	__u32 call; /* system call that it was in (syscall_counts.h); 0 = none */
	__u32 blocked_on; /* enum blocked_reason of blocked_ns */
	__u32 flags; /* enum stall_flags */
	__u32 object; /* enum stall_object */
	__u32 device; /* STALL_OBJECT_MAPPED: major << 20 | minor */
	__u32 reserved;
	struct socket_end peer; /* of a Unix socket is_own alone: the path is its own */
	char comm[COMM_BYTES];
	char waker_comm[COMM_BYTES];
	char other_comm[COMM_BYTES];
	char names[STALL_NAMES][STALL_NAME_BYTES];
};

_Static_assert(SOCKET_PATH_BYTES < 2 * STALL_NAME_BYTES, "has room");
_Static_assert(sizeof(struct stall) == 13 * 8 + 14 * 4 + 4 * 16 + STALL_NAMES * STALL_NAME_BYTES,
	       "layout");

/* A page of a file that a page fault of a thread has the kernel read. */
struct stall_page {
	__u64 inode; /* of the file; 0 = none */
	__u64 faults; /* the number of faults that the thread was done with */
	__u32 device; /* major << 20 | minor */
	__u32 reserved;
};

/* The last wait of a thread, kept with its books. All zeros: none. */
struct stall_watch {
	__u64 left_ns; /* it left its CPU; 0 = no wait is watched */
	__u64 entered_ns; /* it got one again, after more than the limit; 0 = not yet */
	__u64 context_hash;
	__u64 blocked_ns; /* so far */
	__u64 run_queue_ns;
	__u64 gvl_ns; /* the part that was for the GVL, by the gem's counters */
	__u64 pending_blocked_ns; /* the part of the pending totals that was seen */
	__u64 pending_run_queue_ns;
	__u64 argument; /* the first one of its system call */
	__u64 stack; /* with --stacks=off-cpu */
	__u64 tip;
	__u64 waker_hash; /* this and the next four are written by the waker, at any time */
	__u64 waker; /* tgid << 32 | tid */
	__u64 ready_file; /* of the epoll set that it waited for, the kernel's address; 0 = none */
	__u32 ready_descriptor; /* that it was put into the set with */
	__u32 flags; /* enum stall_flags */
	__u32 call;
	__u32 other_tgid;
	__u32 other_tid;
	__u32 mapped_device; /* it waited in a page fault that read this file */
	__u64 mapped_inode; /* 0 = in none, or not known */
	struct stall_page read; /* the last one; written by the thread itself, at any time */
	char waker_comm[COMM_BYTES];
	char other_comm[COMM_BYTES];
};

struct hog_place {
	__u64 stack; /* STACK_NOT_SEEN = none */
	__u64 tip;
};

enum {
	/* A sample replaces the one before with a probability of at least 1 in this: of a long time
	 * the chosen one is of the end, as userspace forgets stacks after a window or two. */
	HOG_SAMPLES = 32,
};

/* The time since a thread's last probe. All zeros: not known. */
struct hog_watch {
	__u64 since_ns; /* that probe; 0 = not known */
	__u64 context_hash; /* charged since then */
	__u64 cpu_ns; /* charged so far */
	__u64 blocked_ns;
	__u64 run_queue_ns;
	__u32 last_fiber; /* the last one that ran in a context; 0 = none, or not known */
	__u32 has_turns; /* fibers take turns on the thread */
	__u64 longest_wait_ns;
	struct hog_place waited; /* in the longest wait; only with --stacks=off-cpu */
	struct hog_place sampled; /* in one of the samples; only with --stacks */
	__u64 samples; /* at most HOG_SAMPLES */
};

/* The pending totals are charged to that context. */
static inline void hog_charged(struct hog_watch *watch, const struct account_totals *pending,
			       __u64 context_hash)
{
	__u64 differs = watch->context_hash ^ context_hash;
	__u64 is_set = watch->context_hash;

	/* Another context without a probe: no one has kept the thread. Branch-free, as this is part
	 * of each charge. */
	differs = (differs | -differs) >> 63;
	is_set = (is_set | -is_set) >> 63;
	__asm__("" : "+r"(differs), "+r"(is_set));
	watch->since_ns &= (differs & is_set) - 1;
	watch->context_hash = context_hash;
	watch->cpu_ns += account_on_cpu(pending);
	watch->blocked_ns += pending->blocked_ns;
	watch->run_queue_ns += pending->run_queue_ns;
}

/* Whether a fiber has kept its thread for long, at a probe that is passed now. */
static inline int hog_is_long(const struct hog_watch *watch, __u64 now_ns, __u64 least_ns)
{
	return watch->since_ns && watch->has_turns &&
	       account_growth(now_ns, watch->since_ns) >= least_ns;
}

/*
 * A probe was passed, and what was pending charged. fiber: that runs in a context from here on; 0 =
 * in none, or not known. Fibers are numbered as they come: if an older one follows a newer one,
 * they take turns. (A native thread that Ruby uses for one thread after the other meets only newer
 * ones.)
 */
static inline void hog_begin(struct hog_watch *watch, __u64 now_ns, __u32 fiber)
{
	watch->has_turns |= fiber && fiber < watch->last_fiber;
	watch->last_fiber = fiber ? fiber : watch->last_fiber;
	watch->since_ns = fiber ? now_ns : 0;
	watch->context_hash = 0;
	watch->cpu_ns = watch->blocked_ns = watch->run_queue_ns = 0;
	watch->longest_wait_ns = watch->samples = 0;
	watch->waited.stack = watch->waited.tip = 0;
	watch->sampled.stack = watch->sampled.tip = 0;
}

/* The thread was off its CPU for that long, in that stack. */
static inline void hog_note_wait(struct hog_watch *watch, __u64 wait_ns, __u64 stack, __u64 tip)
{
	if (wait_ns < watch->longest_wait_ns)
		return;
	watch->longest_wait_ns = wait_ns;
	watch->waited.stack = stack;
	watch->waited.tip = tip;
}

/* A sample of the thread found it in that stack. Up to HOG_SAMPLES of them, each is as likely to be
 * chosen. random: any number. */
static inline void hog_note_sample(struct hog_watch *watch, __u64 stack, __u64 tip, __u32 random)
{
	if (watch->samples < HOG_SAMPLES)
		watch->samples++;
	if (random % (__u32)watch->samples)
		return;
	watch->sampled.stack = stack;
	watch->sampled.tip = tip;
}

/* Where the fiber was: in its longest wait, or, if it ran for longer than it waited, in one of its
 * samples. Sets *ret_flags: STALL_STACK_IS_SAMPLED or 0. */
static inline struct hog_place hog_place(const struct hog_watch *watch, __u32 *ret_flags)
{
	int has_run = watch->cpu_ns > watch->blocked_ns + watch->run_queue_ns;

	*ret_flags = has_run ? STALL_STACK_IS_SAMPLED : 0;
	return has_run ? watch->sampled : watch->waited;
}

/* Adds the time off the CPU that became pending since the last call. */
static inline void stall_add_pending(struct stall_watch *watch,
				     const struct account_totals *pending)
{
	watch->blocked_ns += account_growth(pending->blocked_ns, watch->pending_blocked_ns);
	watch->run_queue_ns += account_growth(pending->run_queue_ns, watch->pending_run_queue_ns);
	watch->pending_blocked_ns = pending->blocked_ns;
	watch->pending_run_queue_ns = pending->run_queue_ns;
}

/* The thread leaves its CPU in a context; its interval is closed. */
static inline void stall_begin(struct stall_watch *watch, const struct account_totals *pending,
			       __u64 now_ns, __u64 context_hash)
{
	watch->entered_ns = 0;
	watch->context_hash = context_hash;
	watch->blocked_ns = watch->run_queue_ns = watch->gvl_ns = 0;
	watch->pending_blocked_ns = pending->blocked_ns;
	watch->pending_run_queue_ns = pending->run_queue_ns;
	watch->waker = watch->waker_hash = watch->ready_file = 0;
	watch->waker_comm[0] = 0;
	watch->flags = 0;
	watch->left_ns = now_ns;
}

/* The pending totals are charged, and restart from 0. */
static inline void stall_charged(struct stall_watch *watch, const struct account_totals *pending)
{
	stall_add_pending(watch, pending);
	watch->pending_blocked_ns = watch->pending_run_queue_ns = 0;
}

/*
 * The part of the wait that was for the GVL. off_reason: of the wait; by the futex it is all for
 * that, or nothing. Counters are the application's, and cannot exceed it.
 */
static inline __u64 stall_gvl_ns(const struct stall_watch *watch, __u32 off_reason)
{
	__u64 off_cpu_ns = watch->blocked_ns + watch->run_queue_ns;

	return watch->gvl_ns < off_cpu_ns && !off_cpu_is_for_gvl(off_reason) ? watch->gvl_ns
									     : off_cpu_ns;
}

static inline int stall_is_long(const struct stall_watch *watch, __u64 now_ns, __u64 least_ns)
{
	__u64 left_ns = *(const volatile __u64 *)&watch->left_ns;

	return left_ns && account_growth(now_ns, left_ns) >= least_ns;
}

enum {
	STALLS_PER_SECOND = 1000, /* of a family of processes (share.h); and a second's at once */
	STALL_NS = 1000 * 1000 * 1000 / STALLS_PER_SECOND,
};

/* Limits the stalls of a family. paid_ns: when all so far are paid for. Returns that after one
 * more; 0 = over the limit now. */
static inline __u64 stall_budget_take(__u64 paid_ns, __u64 now_ns)
{
	return pace_take(paid_ns, now_ns, (__u64)STALL_NS * STALLS_PER_SECOND - 1, STALL_NS);
}
