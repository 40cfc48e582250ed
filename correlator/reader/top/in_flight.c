/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/top/in_flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/compare.h"
#include "figures/costs.h"

static enum sched_state state_of(const struct costs *costs)
{
	const int64_t uninterruptible_ns = costs->sums[COST_UNINTERRUPTIBLE];
	const int64_t spent_ns[_SCHED_STATE_MAX] = {
		[SCHED_RUNNING] = costs->sums[COST_CPU],
		[SCHED_RUN_QUEUE] = costs->sums[COST_RUN_QUEUE],
		[SCHED_BLOCKED] = costs->sums[COST_BLOCKED] - uninterruptible_ns,
		[SCHED_UNINTERRUPTIBLE] = uninterruptible_ns,
	};
	enum sched_state most = SCHED_RUNNING;

	for (int state = 1; state < _SCHED_STATE_MAX; state++)
		if (spent_ns[state] > spent_ns[most])
			most = (enum sched_state)state;
	return most;
}

struct search {
	const struct history *history;
	struct in_flight *in_flight;
};

static int visit(void *user, const struct history_window *window, const struct record_view *record)
{
	struct search *search = user;
	struct in_flight *in_flight = search->in_flight;
	struct costs costs = costs_of_record(record);
	struct record_text id = { 0 }, name = { 0 };
	struct in_flight_request request = { .state = state_of(&costs),
					     .blocked_on = costs_most_blocked_on(&costs),
					     .last_ns = costs.last_ns };
	int r;

	if (costs.lacks_span || in_flight->count == IN_FLIGHT_MAX ||
	    (uint64_t)costs.last_ns + IN_FLIGHT_FLUSH_NS < window->end_ns)
		return 0;
	(void)record_view_text(record, "request_id", &id);
	request.tag = history_tag(search->history, id);
	if (request.tag == 0)
		return 0;
	(void)record_view_count(record, RECORD_FIELD(cpu, tid), &request.tid);
	(void)record_view_text(record, RECORD_FIELD(cpu, thread_name), &name);
	if (name.size_bytes > GROUP_NAME_BYTES)
		name.size_bytes = GROUP_NAME_BYTES;
	if (name.size_bytes > 0)
		memcpy(request.thread_name, name.bytes, name.size_bytes);
	r = array_reserve(&in_flight->requests, &in_flight->capacity, in_flight->count + 1);
	if (r == 0)
		in_flight->requests[in_flight->count++] = request;
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct in_flight_request *first = a, *second = b;
	int order = compare_u64(first->tag, second->tag);

	return order ? order : compare_i64(second->last_ns, first->last_ns);
}

/* Keeps one entry per request: the first, which is for the thread that it was last on. */
static void keep_last(struct in_flight *in_flight)
{
	size_t kept = 0;

	for (size_t i = 0; i < in_flight->count; i++)
		if (kept == 0 || in_flight->requests[i].tag != in_flight->requests[kept - 1].tag)
			in_flight->requests[kept++] = in_flight->requests[i];
	in_flight->count = kept;
}

int in_flight_init(struct in_flight *in_flight, const struct history *history, uint64_t number)
{
	struct search search = { history, in_flight };
	struct history_span span = { .first = number, .last = number };
	int r;

	*in_flight = (struct in_flight){ 0 };
	r = history_visit(history, &span, visit, &search);
	if (r < 0) {
		in_flight_deinit(in_flight);
		return r;
	}
	if (in_flight->count > 0)
		qsort(in_flight->requests, in_flight->count, sizeof(*in_flight->requests), compare);
	keep_last(in_flight);
	return 0;
}

void in_flight_deinit(struct in_flight *in_flight)
{
	free(in_flight->requests);
	*in_flight = (struct in_flight){ 0 };
}

const struct in_flight_request *in_flight_find(const struct in_flight *in_flight, uint64_t tag)
{
	size_t begin = 0, end = in_flight->count;

	while (begin < end) {
		size_t middle = (begin + end) / 2;

		if (in_flight->requests[middle].tag < tag)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin < in_flight->count && in_flight->requests[begin].tag == tag
		       ? &in_flight->requests[begin]
		       : NULL;
}
