/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts each request once: adds up what its records say, over all threads, processes and windows,
 * until it has ended. Nobody says when that is: it has once the last window that had it began
 * REQUEST_QUIET_NS ago, and is not the last one of all; one that comes back later is a request of
 * its own. So windows are told one by one, later, each with all the requests that ended in it.
 * Windows are not as long as each other: half of one may be lacking. Bounded: where
 * REQUESTS_OPEN_MAX are open, the one that was quiet for longest has ended; of more than
 * REQUEST_WINDOWS_MAX windows the oldest is over. Single thread.
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
	REQUEST_VALUE_BYTES_MAX = 512, /* what is longer is cut */
	REQUEST_WINDOWS_MAX = 1024,
};

/* By the caller's clock. */
struct request_window {
	uint64_t start_ns;
	uint64_t end_ns;
};

struct request_tracker;

/* Owned by the tracker, until its next call. */
struct ended_request {
	struct record_text value; /* of the key, as its last record that had one said; or none */
	uint32_t pid; /* of its last record */
	struct costs costs;
};

/* open_max: REQUESTS_OPEN_MAX, or fewer. NULL: no memory. */
struct request_tracker *request_tracker_new(size_t open_max);
void request_tracker_free(struct request_tracker *tracker);
DEFINE_CLEANUP(struct request_tracker *, request_tracker_free);

/* Ignores what is of no request. 0 or -ENOMEM. */
int request_tracker_add(struct request_tracker *tracker, const struct request_charge *charge);

/* A window is over: requests may have ended. */
void request_tracker_end_window(struct request_tracker *tracker,
				const struct request_window *window);
/* When the last one ended, on a clock that goes on where the caller's is set back. */
uint64_t request_tracker_now_ns(const struct request_tracker *tracker);
/* All have: those of the closed windows, one after the other, then those of the open one. */
void request_tracker_finish(struct request_tracker *tracker);

/* The next window of which all requests have ended: they are the next ones. False: none has. */
bool request_tracker_next_window(struct request_tracker *tracker,
				 struct request_window *ret_window);
/* The next one that has ended, each once; NULL: no more, of the windows up to now. */
const struct ended_request *request_tracker_next_ended(struct request_tracker *tracker);
