/* SPDX-License-Identifier: GPL-2.0-only */
#include "requests/request_tracker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tracked_request {
	struct open_request open;
	struct costs costs;
	uint64_t window; /* the last window that had it */
	uint32_t pid;
	char *value; /* owned */
	size_t value_bytes;
};

struct closed_window {
	struct request_window window;
	uint64_t began_ns; /* by the tracker's clock */
};

struct request_tracker {
	struct open_requests open;
	struct tracked_request *ended; /* owned; `given` borrows from it */
	struct ended_request given;
	size_t open_max;
	uint64_t end_ns; /* of the last window */
	uint64_t window; /* number of the open window */
	uint64_t given_windows; /* number of the first window not returned yet */
	struct closed_window closed[REQUEST_WINDOWS_MAX]; /* by number modulo REQUEST_WINDOWS_MAX */
	uint64_t now_ns; /* start of the open window; does not go back if the caller's clock does */
	bool is_finished;
};

struct request_tracker *request_tracker_new(size_t open_max)
{
	struct request_tracker *tracker = calloc(1, sizeof(*tracker));

	if (!tracker)
		return NULL;
	tracker->open_max = open_max;
	open_requests_init(&tracker->open, sizeof(struct tracked_request));
	return tracker;
}

static void free_request(struct tracked_request *request)
{
	if (request)
		free(request->value);
	free(request);
}

static void take_oldest(struct request_tracker *tracker)
{
	struct open_request *request = tracker->open.oldest;

	open_requests_take(&tracker->open, request);
	free_request(tracker->ended);
	tracker->ended = (struct tracked_request *)request;
}

void request_tracker_free(struct request_tracker *tracker)
{
	if (!tracker)
		return;
	while (tracker->open.oldest)
		take_oldest(tracker);
	free_request(tracker->ended);
	free(tracker);
}

static int set_value(struct tracked_request *request, struct record_text value)
{
	size_t size_bytes = value.size_bytes < REQUEST_VALUE_BYTES_MAX ? value.size_bytes
								       : REQUEST_VALUE_BYTES_MAX;
	char *copy;

	if (size_bytes == 0 || (size_bytes == request->value_bytes &&
				memcmp(value.bytes, request->value, size_bytes) == 0))
		return 0;
	copy = malloc(size_bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, value.bytes, size_bytes);
	free(request->value);
	request->value = copy;
	request->value_bytes = size_bytes;
	return 0;
}

int request_tracker_add(struct request_tracker *tracker, const struct request_charge *charge)
{
	struct tracked_request *request;
	struct open_request *open;
	int r;

	if (charge->id.size_bytes == 0)
		return 0;
	r = open_requests_touch(&tracker->open, charge->id, &open);
	if (r < 0)
		return r;
	request = (struct tracked_request *)open;
	request->window = tracker->window;
	request->pid = charge->pid;
	costs_add(&request->costs, &charge->costs);
	return set_value(request, charge->value);
}

void request_tracker_end_window(struct request_tracker *tracker,
				const struct request_window *window)
{
	uint64_t before_ns = tracker->window > 0 ? tracker->end_ns : window->start_ns;
	uint64_t passed_ns = window->end_ns > before_ns ? window->end_ns - before_ns : 0;
	uint64_t length_ns =
		window->end_ns > window->start_ns ? window->end_ns - window->start_ns : passed_ns;

	tracker->now_ns += passed_ns;
	/* After a hole it began later than the previous window ended. */
	tracker->closed[tracker->window % REQUEST_WINDOWS_MAX] = (struct closed_window){
		*window, tracker->now_ns - (length_ns < passed_ns ? length_ns : passed_ns)
	};
	tracker->end_ns = window->end_ns;
	tracker->window++;
}

/* Whether no request of that window has to be waited for any more. */
static bool is_quiet(const struct request_tracker *tracker, uint64_t number)
{
	const struct closed_window *closed = &tracker->closed[number % REQUEST_WINDOWS_MAX];
	uint64_t windows = tracker->window - number;
	uint64_t quiet_ns = tracker->now_ns - closed->began_ns;

	if (windows == 0)
		return false;
	return tracker->is_finished || windows >= REQUEST_WINDOWS_MAX ||
	       (windows > 1 && quiet_ns + quiet_ns / (2 * windows) >= REQUEST_QUIET_NS);
}

bool request_tracker_next_window(struct request_tracker *tracker, struct request_window *ret_window)
{
	if (!is_quiet(tracker, tracker->given_windows))
		return false;
	*ret_window = tracker->closed[tracker->given_windows++ % REQUEST_WINDOWS_MAX].window;
	return true;
}

uint64_t request_tracker_now_ns(const struct request_tracker *tracker)
{
	return tracker->now_ns;
}

void request_tracker_finish(struct request_tracker *tracker)
{
	tracker->is_finished = true;
}

static bool has_ended(const struct request_tracker *tracker, const struct tracked_request *request)
{
	return (tracker->is_finished && tracker->given_windows == tracker->window) ||
	       open_requests_count(&tracker->open) > tracker->open_max ||
	       request->window < tracker->given_windows;
}

const struct ended_request *request_tracker_next_ended(struct request_tracker *tracker)
{
	const struct open_request *oldest = tracker->open.oldest;

	if (!oldest || !has_ended(tracker, (const struct tracked_request *)oldest))
		return NULL;
	take_oldest(tracker);
	tracker->given = (struct ended_request){
		.value = { tracker->ended->value, tracker->ended->value_bytes },
		.pid = tracker->ended->pid,
		.costs = tracker->ended->costs,
	};
	return &tracker->given;
}
