/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The books that the kernel programs keep and userspace drains: accounts per (thread, context), and
 * per process whatever has no account.
 */
#pragma once

#include <linux/types.h>

#include <correlator/account.h>
#include <correlator/counters.h>
#include <correlator/limits.h>

/*
 * Key of the map behind `accounts`. A tid can be reused in a window. A serial never is, and a
 * thread has a new one for each program that it runs.
 */
struct account_key {
	__u64 context_hash;
	__u64 thread_serial;
	__u64 life; /* of the thread's process (life.h) */
};

_Static_assert(sizeof(struct account_key) == 24, "layout");

enum account_flags {
	ACCOUNT_INHERITED = 1 << 0, /* charged before the thread itself had set a context */
	ACCOUNT_OF_ORIGIN = 1 << 1, /* in the context that its process was started in (origin.h) */
	ACCOUNT_COUNTS_GVL =
		1 << 2, /* its thread's waits for the GVL are counted: gvl_ns, gvl_waits */
	ACCOUNT_COUNTS_GC = 1 << 3, /* its thread's collections are counted: gc_ns, gc_runs */
};

struct account {
	struct account_totals totals;
	__u64 first_ns; /* CLOCK_MONOTONIC: start of the first charge; last_ns: end of the last */
	__u64 last_ns;
	__u32 tid; /* in the observer's pid namespace */
	__u32 ns_tid; /* in the thread's own pid namespace */
	__u32 flags; /* enum account_flags */
	__u32 tgid; /* in the observer's pid namespace */
	__u64 image; /* the program that the thread ran (life.h) */
	char comm[COMM_BYTES];
};

_Static_assert(sizeof(struct account) == sizeof(struct account_totals) + 40 + COMM_BYTES, "layout");
_Static_assert(__builtin_offsetof(struct account, comm) == sizeof(struct account_totals) + 40,
	       "layout");

/* Figures of a process outside its accounts, for the windows of one parity. */
struct epoch_books {
	struct account_totals overflow; /* charges without an account */
	__u64 exec_ns; /* growth of se.sum_exec_runtime of all threads */
};

_Static_assert(sizeof(struct epoch_books) == sizeof(struct account_totals) + 8, "layout");

/*
 * Value of the map `books`, by life. Only grows; userspace takes differences. Several threads add
 * to it: atomic additions. Once its window has ended, a thread adds to the other parity.
 */
struct process_books {
	struct epoch_books epochs[2];
	__u64 losses[_COUNTER_MAX]; /* by enum counter */
	__u64 image; /* the program that the process runs (life.h) */
	__u64 load_told_ns; /* time of the last EVENT_KIND_LOAD */
	__u32 live_threads;
	__u32 reserved;
};

_Static_assert(sizeof(struct process_books) ==
		       2 * sizeof(struct epoch_books) + 8 * _COUNTER_MAX + 24,
	       "layout");
