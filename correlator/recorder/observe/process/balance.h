/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The books of one process, per window: the accounts compared with the kernel's figures.
 *
 *   exec = attributed + unattributed + overflow + residual
 *
 * Pure; single thread.
 */
#pragma once

#include <stdint.h>

#include <correlator/kernel_books.h>

#include "record/record.h"

struct balance {
	struct process_books before; /* the kernel side's books at the end of the last windows */
	uint64_t exec_owed_ns; /* decrease of the kernel's figure, still to be deducted */
	uint64_t attributed_ns; /* in this window */
	uint64_t unattributed_ns;
	uint64_t samples; /* in this window */
	uint64_t period_ns; /* time that one sample stands for; 0 = not sampled */
	uint64_t losses[_COUNTER_MAX]; /* in this window, counted by userspace */
};

/* Adds one account's on-CPU time to the window. */
void balance_add(struct balance *balance, uint64_t context_hash,
		 const struct account_totals *totals);

/*
 * Closes the window of number `window`: fills in the figures of ret_record (all but common and
 * own_cpu_ns) and starts the next window. now: the current books of the kernel side. If their exec
 * time has decreased (stolen time was reported after the previous window had ended), exec_ns is 0,
 * and the following windows are reduced accordingly.
 */
void balance_close(struct balance *balance, const struct process_books *now, uint64_t window,
		   uint64_t window_ns, struct balance_record *ret_record);

/* Totals that found no account in the window that ends now; call before balance_close. */
void balance_overflow(const struct balance *balance, const struct process_books *now,
		      uint64_t window, struct account_totals *ret_totals);
