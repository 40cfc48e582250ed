/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was stolen from each thread, kept from being negative: theft is noticed a little early or
 * late, so an account may have a figure below 0, which is taken out of the same thread's next ones.
 * A thread's on-CPU, run queue, blocked and stolen time then add up to the wall, to the last debt.
 * Bounded by the threads of a second and a window. Pure; single thread.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"

struct stolen_debts;

struct stolen_debts *stolen_debts_new(void); /* NULL: no memory */
void stolen_debts_free(struct stolen_debts *debts);
DEFINE_CLEANUP(struct stolen_debts *, stolen_debts_free);

/*
 * What to write for an account of this thread from which stolen_ns were stolen: that less what the
 * thread owes, at least 0; the rest is owed. Without memory the rest is forgotten.
 */
uint64_t stolen_debts_settle(struct stolen_debts *debts, uint64_t thread_serial, int64_t stolen_ns);

/*
 * At the end of a window of that length: forgets what threads owe that had no account in it nor in
 * the second before, for they are gone. One that waits for a CPU has none meanwhile.
 */
void stolen_debts_end_window(struct stolen_debts *debts, uint64_t window_ns);
