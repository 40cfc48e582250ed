/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps each thread's stolen time from being negative. Steal time is noticed a little early or
 * late, so an account may have a figure below 0, which is deducted from the thread's next ones. A
 * thread's on-CPU, run queue, blocked and stolen time then add up to the wall time, except for the
 * last debt. Bounded by the threads of a second and a window. Pure; single thread.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"

struct stolen_debts;

struct stolen_debts *stolen_debts_new(void); /* NULL: no memory */
void stolen_debts_free(struct stolen_debts *debts);
DEFINE_CLEANUP(struct stolen_debts *, stolen_debts_free);

/*
 * The figure to record for an account of this thread: stolen_ns less what the thread owes, at least
 * 0; a negative rest is owed. Without memory the rest is forgotten.
 */
uint64_t stolen_debts_settle(struct stolen_debts *debts, uint64_t thread_serial, int64_t stolen_ns);

/*
 * At the end of a window of length window_ns: drops the debts of threads that had no account in it,
 * nor in the second before, because they are gone. (A thread that waits for a CPU has no account
 * until it runs.)
 */
void stolen_debts_end_window(struct stolen_debts *debts, uint64_t window_ns);
