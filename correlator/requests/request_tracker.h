/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts each request once: sums its records over all threads, processes and windows until it has
 * ended. No record reports the end: a request has ended once the last window that had it began
 * REQUEST_QUIET_NS ago and is not the latest window; if it comes back later, it counts as another
 * request. So windows are returned one by one, delayed, each with all the requests that ended in
 * it. Windows differ in length, so REQUEST_QUIET_NS may lack half a window. Bounded: if more than
 * open_max requests are open, the one that was quiet for longest has ended; of REQUEST_WINDOWS_MAX
 * pending windows the oldest is over. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "requests/open_requests.h"
#include "requests/request_charge.h"

#define REQUEST_QUIET_NS (3 * NS_PER_S)

enum {
	REQUEST_VALUE_BYTES_MAX = 512, /* longer ones are cut */
	REQUEST_WINDOWS_MAX = 1024,
};

/* By the caller's clock. */
struct request_window {
	uint64_t start_ns;
	uint64_t end_ns;
};

struct request_tracker;

/* Owned by the tracker, valid until its next call. */
struct ended_request {
	struct record_text value; /* of the key, from its last record that had one; may be empty */
	uint32_t pid; /* of its last record */
	struct costs costs;
};

/* open_max: REQUESTS_OPEN_MAX, or fewer. NULL: no memory. */
struct request_tracker *request_tracker_new(size_t open_max);
void request_tracker_free(struct request_tracker *tracker);
DEFINE_CLEANUP(struct request_tracker *, request_tracker_free);

/* Ignores a charge without a request. 0 or -ENOMEM. */
int request_tracker_add(struct request_tracker *tracker, const struct request_charge *charge);

/* A window is over: requests may have ended. */
void request_tracker_end_window(struct request_tracker *tracker,
				const struct request_window *window);
/* When the last window ended, on a clock that does not go back if the caller's does. */
uint64_t request_tracker_now_ns(const struct request_tracker *tracker);
/* Ends all requests: those of the closed windows, one window after the other, then those of the
 * open one. */
void request_tracker_finish(struct request_tracker *tracker);

/* Returns the next window whose requests have all ended; request_tracker_next_ended() returns
 * them next. False: there is none. */
bool request_tracker_next_window(struct request_tracker *tracker,
				 struct request_window *ret_window);
/* Returns the next request that has ended, each once; NULL = no more in the windows returned so
 * far. */
const struct ended_request *request_tracker_next_ended(struct request_tracker *tracker);
