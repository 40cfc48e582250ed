/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests in progress when a window ended: a flush charges each thread's request at that instant,
 * so the last activity of these is at the window's end. A request whose fiber waits while its
 * thread works for another is not included. Pure.
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
	/* Allowed time of a flush from the first thread to the last; 0.15 ms were measured. */
	IN_FLIGHT_FLUSH_NS = 1000000,
};

struct in_flight_request {
	uint64_t tag; /* history_tag */
	/* The rest describes the thread that the request was last on. */
	enum sched_state state; /* the state with the most time in the window */
	int blocked_on; /* enum blocked_reason with the most time asleep; -1 = not known */
	int64_t tid;
	int64_t last_ns;
	char thread_name[GROUP_NAME_BYTES + 1];
};

struct in_flight {
	struct in_flight_request *requests; /* sorted by tag */
	size_t count;
	size_t capacity;
};

/* Collects the requests in flight at the end of a kept window. 0, -ENOMEM. */
int in_flight_init(struct in_flight *in_flight, const struct history *history, uint64_t number);
void in_flight_deinit(struct in_flight *in_flight);

/* NULL: not in flight. */
const struct in_flight_request *in_flight_find(const struct in_flight *in_flight, uint64_t tag);
