/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State of the programs that userspace reads while they run: the per-CPU slot to which the short
 * path of a system call's edge adds (bpf/edges.bpf.h), and the front of a thread's state.
 */
#pragma once

#include <linux/types.h>

#include <correlator/account.h>

enum {
	EDGE_UNOBSERVED_TASKS = 4 /* remembered per CPU; a power of two */
};

/*
 * The variable of a lean thread, for which no probe reports changes: it is read at each entry into
 * the kernel. While neither the pointer nor our gem's count of changes moves, the context is the
 * same, and all CPU time up to that reading surely belongs to it. All zeros: nothing is read.
 */
struct edge_watch {
	__u64 address; /* of the pointer; 0 = nothing is read */
	__u64 pointer; /* as last read */
	__u64 changes;
	__u64 sure_ns; /* of the slot's CPU time: up to the last reading */
	__s32 changes_words; /* from the pointer to the count */
	__u32 generation; /* of the configuration */
	__u32 is_read; /* there was a reading since the slot was armed */
	__u32 unused;
};

/* Value of the map `edge_slots`, by CPU. */
struct edge_slot {
	__u32 registrations; /* the addresses are valid while the global `registrations` is this */
	__u32 is_busy;
	/* Address of the saved registers of the thread whose edges go here; 0 = none. */
	__u64 registers;
	/* As registers, of threads found not to be observed, and at switches those of such tasks;
	 * each at a place by its tid. */
	__u64 unobserved_registers[EDGE_UNOBSERVED_TASKS];
	__u64 unobserved_tasks[EDGE_UNOBSERVED_TASKS];
	__u64 serial; /* of the thread whose time is in times; 0 = none */
	struct edge_times times;
	struct edge_watch watch;
	/* At the last switch that was seen here an observed thread got the CPU. May be out of date:
	 * a thread may begin to be observed while it runs, and a switch may be missed. */
	__u32 runs_observed;
	__u32 unused;
};

_Static_assert(sizeof(struct edge_slot) == 2 * 4 + 8 + 2 * 8 * EDGE_UNOBSERVED_TASKS + 8 + 5 * 8 +
						   4 * 8 + 4 * 4 + 2 * 4,
	       "layout");

/* The first part of a value of the map `threads`. */
struct thread_front {
	struct thread_clock clock;
	struct account_totals pending; /* of the context in force, since it was last charged */
};

_Static_assert(sizeof(struct thread_front) ==
		       sizeof(struct thread_clock) + sizeof(struct account_totals),
	       "layout");
