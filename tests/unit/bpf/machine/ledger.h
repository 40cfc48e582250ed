/* SPDX-License-Identifier: GPL-2.0-only */
/* What a window comes to: by the programs (machine.h) and by the rule (model.h), to be compared. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <correlator/events.h>
#include <correlator/kernel_books.h>
#include <correlator/stacks.h>
#include <correlator/timeline.h>

#include "world.h"

enum {
	LEDGER_ROWS = 512,
	LEDGER_STINTS = 4096,
	LEDGER_UNKNOWN = 99, /* a context that could not be told */
};

struct ledger_row {
	uint32_t serial; /* of the thread */
	uint32_t context; /* 0 = none, a value of a table, or LEDGER_UNKNOWN */
	uint64_t owner; /* the image that set it, which makes it another one */
	uint64_t context_hash; /* by the programs */
	uint32_t tid;
	uint32_t name; /* a number: its serial */
	uint32_t is_inherited;
	uint32_t is_of_origin;
	uint32_t counts_gvl;
	uint32_t times_gc;
	uint64_t first_ns;
	uint64_t last_from_ns; /* by the model, up to the window's end */
	uint64_t last_ns;
	struct account_totals totals;
	uint64_t calls; /* by number, by the programs */
	uint64_t inside_ns;
	struct wait_sums waited; /* in all stacks, by the programs */
};

struct ledger {
	struct account_totals overflow[PROCESSES]; /* of the window */
	uint64_t overflow_calls[PROCESSES]; /* the same by number */
	struct wait_sums overflow_waited[PROCESSES]; /* and in all stacks */
	uint64_t waits_told_twice; /* of a stack that was waited in once */
	uint64_t exec_ns[PROCESSES]; /* of the window */
	uint64_t losses[PROCESSES][_COUNTER_MAX]; /* since the process began */
	uint64_t events[_EVENT_KIND_MAX]; /* since all began */
	uint64_t event_lives[_EVENT_KIND_MAX]; /* the sum of them, */
	uint64_t event_tgids[_EVENT_KIND_MAX]; /* of their pids, with those of the parents, */
	uint64_t event_details[_EVENT_KIND_MAX]; /* and of what else they say */
	uint64_t end_ns;
	uint64_t live_threads[PROCESSES];
	uint64_t stragglers; /* that the flush could not write up */
	uint64_t leaving_threads;
	uint64_t accounts_held; /* of the window, by anyone's share, once it is drained */
	uint64_t wrong_stalls; /* told with other times than were charged */
	uint64_t processes_held;
	/* Told by the programs since the last drain; gone with the next event. */
	const struct stint *stints;
	uint32_t stints_count;
	uint32_t count;
	/* Of the window; last, for few of them are used. */
	struct ledger_row rows[LEDGER_ROWS];
};

static inline void ledger_copy(struct ledger *ret, const struct ledger *ledger)
{
	memcpy(ret, ledger,
	       offsetof(struct ledger, rows) + ledger->count * sizeof(ledger->rows[0]));
}

static inline void ledger_clear(struct ledger *ledger)
{
	memset(ledger, 0, offsetof(struct ledger, rows));
}
