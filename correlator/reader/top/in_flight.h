/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests that were being worked for when a window ended: a flush charges what each thread works
 * for at that instant, so their last activity is the window's end. One whose fiber waits while its
 * thread works for another is not among them. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/aggregate/grouping.h"
#include "reader/top/history.h"
#include "record/sched_state.h"

enum {
	IN_FLIGHT_MAX = 4096, /* more are left out */
	/* What a flush takes from the first thread to the last: 0.15 ms were seen. */
	IN_FLIGHT_FLUSH_NS = 1000000,
};

struct in_flight_request {
	uint64_t tag; /* history_tag */
	/* The rest is of the thread that it was last on. */
	enum sched_state state; /* of most of the window */
	int blocked_on; /* enum blocked_reason of most of its time asleep; -1 = not known */
	int64_t tid;
	int64_t last_ns;
	char thread_name[GROUP_NAME_BYTES + 1];
};

struct in_flight {
	struct in_flight_request *requests; /* by tag */
	size_t count;
	size_t capacity;
};

/* Those of a window that is kept. 0, -ENOMEM. */
int in_flight_init(struct in_flight *in_flight, const struct history *history, uint64_t number);
void in_flight_deinit(struct in_flight *in_flight);

/* NULL: not in flight. */
const struct in_flight_request *in_flight_find(const struct in_flight *in_flight, uint64_t tag);
