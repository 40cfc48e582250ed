/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs keep where userspace looks at it while they run: the slot of a CPU that the
 * short way of a system call's edge adds to (bpf/edges.bpf.h), and the front of a thread's state.
 */
#pragma once

#include <linux/types.h>

#include <correlator/account.h>

enum {
	EDGE_UNOBSERVED_TASKS = 8 /* remembered on a CPU; a power of two */
};

/* Value of the map `edge_slots`, by CPU. */
struct edge_slot {
	__u64 registers; /* of the thread whose edges go here; 0 = none */
	__u64 unobserved_registers; /* the same of the last thread that turned out not to be
				       observed */
	struct edge_times times;
	__u64 serial; /* of the thread whose time is in times; 0 = none */
	__u32 registrations; /* all addresses are good as long as this is the current figure */
	__u32 is_busy;
	/* Addresses of tasks that turned out not to be observed, at switches; by their tid. */
	__u64 unobserved_tasks[EDGE_UNOBSERVED_TASKS];
};

_Static_assert(sizeof(struct edge_slot) == 2 * 8 + 5 * 8 + 8 + 2 * 4 + EDGE_UNOBSERVED_TASKS * 8,
	       "layout");

/* The first part of the values of the map `threads`. */
struct thread_front {
	struct thread_clock clock;
	struct account_totals pending; /* of the context in force, since it was last charged */
};

_Static_assert(sizeof(struct thread_front) ==
		       sizeof(struct thread_clock) + sizeof(struct account_totals),
	       "layout");
