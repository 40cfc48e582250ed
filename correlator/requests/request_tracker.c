/* SPDX-License-Identifier: GPL-2.0-only */
#include "requests/request_tracker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/hash.h"
#include "base/hash_table.h"
#include "base/random.h"

struct open_request {
	struct request_costs costs;
	uint64_t window; /* the last one that had it, */
	uint64_t start_ns; /* and when that began */
	char *value; /* owned */
	size_t value_bytes;
	struct open_request *prev, *next;
	UT_hash_handle hh;
	size_t id_bytes;
	char id[]; /* not NUL-terminated */
};

struct request_tracker {
	struct open_request *table; /* uthash */
	struct open_request *oldest; /* utlist: the one that nothing came of for longest */
	struct open_request *ended; /* owned: that `given` is of */
	struct ended_request given;
	size_t open_max;
	uint64_t wall_ns; /* the end of the last window; 0 = there was none */
	uint64_t window; /* number of the open one */
	uint64_t now_ns; /* when it began: goes on where the wall clock is set back */
	bool is_finished;
	uint64_t seed;
};

struct request_tracker *request_tracker_new(size_t open_max)
{
	struct request_tracker *tracker = calloc(1, sizeof(*tracker));

	if (tracker)
		*tracker = (struct request_tracker){ .open_max = open_max, .seed = random_seed() };
	return tracker;
}

static void free_request(struct open_request *request)
{
	if (request)
		free(request->value);
	free(request);
}

static void take_oldest(struct request_tracker *tracker)
{
	struct open_request *request = tracker->oldest;

	HASH_DELETE(hh, tracker->table, request);
	DL_DELETE(tracker->oldest, request);
	free_request(tracker->ended);
	tracker->ended = request;
}

void request_tracker_free(struct request_tracker *tracker)
{
	if (!tracker)
		return;
	while (tracker->oldest)
		take_oldest(tracker);
	free_request(tracker->ended);
	free(tracker);
}

static int open_request(struct request_tracker *tracker, struct record_text id, unsigned int hash,
			struct open_request **ret_request)
{
	_cleanup_free_ struct open_request *request = calloc(1, sizeof(*request) + id.size_bytes);

	if (!request)
		return -ENOMEM;
	memcpy(request->id, id.bytes, id.size_bytes);
	request->id_bytes = id.size_bytes;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, tracker->table, request->id, request->id_bytes, hash,
				    request);
	if (!request->hh.tbl)
		return -ENOMEM;
	DL_APPEND(tracker->oldest, request);
	*ret_request = TAKE_PTR(request);
	return 0;
}

static int set_value(struct open_request *request, struct record_text value)
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
	struct open_request *request;
	unsigned int hash;
	int r = 0;

	if (charge->id.size_bytes == 0)
		return 0;
	hash = hash_table_key(tracker->seed, charge->id.bytes, charge->id.size_bytes);
	HASH_FIND_BYHASHVALUE(hh, tracker->table, charge->id.bytes, charge->id.size_bytes, hash,
			      request);
	if (request) {
		DL_DELETE(tracker->oldest, request);
		DL_APPEND(tracker->oldest, request);
	} else {
		r = open_request(tracker, charge->id, hash, &request);
	}
	if (r < 0)
		return r;
	request->window = tracker->window;
	request->start_ns = tracker->now_ns;
	request_costs_add(&request->costs, &charge->costs);
	return set_value(request, charge->value);
}

void request_tracker_end_window(struct request_tracker *tracker, uint64_t wall_ns)
{
	if (tracker->wall_ns && wall_ns > tracker->wall_ns)
		tracker->now_ns += wall_ns - tracker->wall_ns;
	tracker->wall_ns = wall_ns;
	tracker->window++;
}

void request_tracker_finish(struct request_tracker *tracker)
{
	tracker->is_finished = true;
}

static bool has_ended(const struct request_tracker *tracker, const struct open_request *request)
{
	return tracker->is_finished || HASH_COUNT(tracker->table) > tracker->open_max ||
	       (tracker->window - request->window > 1 &&
		tracker->now_ns - request->start_ns >= REQUEST_QUIET_NS);
}

const struct ended_request *request_tracker_next_ended(struct request_tracker *tracker)
{
	if (!tracker->oldest || !has_ended(tracker, tracker->oldest))
		return NULL;
	take_oldest(tracker);
	tracker->given = (struct ended_request){
		.value = { tracker->ended->value, tracker->ended->value_bytes },
		.costs = tracker->ended->costs,
	};
	return &tracker->given;
}
