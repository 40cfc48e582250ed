/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/story/story_beside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/compare.h"
#include "base/display.h"
#include "base/hash.h"
#include "base/random.h"

void beside_init(struct beside *beside)
{
	*beside = (struct beside){ .seed = random_seed(), .judged_from_ns = INT64_MAX };
}

static void forget(struct beside *beside, struct neighbour *neighbour)
{
	HASH_DELETE(hh, beside->neighbours, neighbour);
	free(neighbour);
}

void beside_deinit(struct beside *beside)
{
	struct neighbour *neighbour, *next;

	HASH_ITER(hh, beside->neighbours, neighbour, next)
		forget(beside, neighbour);
	free(beside->spans);
	free(beside->ranking);
	*beside = (struct beside){ 0 };
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The span's CPU within the request; *ret_is_at_most: it is an upper bound. */
static int64_t cpu_in_span(const struct beside_span *span, bool *ret_is_at_most)
{
	const struct story_host *host = span->who->thread->host;
	int64_t common_ns;

	*ret_is_at_most = false;
	if (!host->has_span)
		return 0;
	common_ns = smaller(span->end_ns, host->last_ns) - larger(span->start_ns, host->first_ns);
	if (common_ns <= 0)
		return 0;
	if (common_ns == span->end_ns - span->start_ns)
		return span->cpu_ns;
	*ret_is_at_most = !span->is_slice;
	return smaller(common_ns, span->cpu_ns);
}

static void judge(const struct beside_span *span)
{
	struct neighbour *who = span->who;
	bool is_at_most;
	int64_t cpu_ns = cpu_in_span(span, &is_at_most);

	saturated_add_to(span->is_slice ? &who->cpu_ns : &who->window_cpu_ns, cpu_ns);
	who->is_at_most |= is_at_most;
	who->span_count--;
}

/* Notes what was judged outside the request: the request may turn out to be longer. */
static void note_judged(struct beside *beside, const struct beside_span *span)
{
	const struct story_host *host = span->who->thread->host;

	if (!host->has_span || span->start_ns < host->first_ns)
		beside->judged_until_ns = larger(
			beside->judged_until_ns,
			host->has_span ? smaller(span->end_ns, host->first_ns) : span->end_ns);
	if (host->has_span && span->end_ns > host->last_ns)
		beside->judged_from_ns =
			smaller(beside->judged_from_ns, larger(span->start_ns, host->last_ns));
}

static void judge_oldest(struct beside *beside)
{
	const struct beside_span *span = &beside->spans[beside->oldest];
	struct neighbour *who = span->who;

	judge(span);
	note_judged(beside, span);
	if (who->span_count == 0 && who->cpu_ns == 0 && who->window_cpu_ns == 0)
		forget(beside, who);
}

/* Provides a place for one more span; if full, judges the oldest and reuses its place. 0,
 * -ENOMEM. */
static int make_room(struct beside *beside, struct beside_span **ret_place)
{
	if (beside->span_count == BESIDE_STRETCHES_MAX) {
		judge_oldest(beside);
		*ret_place = &beside->spans[beside->oldest];
		beside->oldest = (beside->oldest + 1) % BESIDE_STRETCHES_MAX;
		return 0;
	}
	if (array_reserve(&beside->spans, &beside->span_room, beside->span_count + 1) < 0)
		return -ENOMEM;
	*ret_place = &beside->spans[beside->span_count++];
	return 0;
}

static int open_neighbour(struct beside *beside, const struct story_thread *thread,
			  struct record_text request_id, const uint64_t key[static 2],
			  unsigned int hash, struct neighbour **ret_neighbour)
{
	_cleanup_free_ struct neighbour *neighbour = NULL;

	if (HASH_COUNT(beside->neighbours) == BESIDE_NEIGHBOURS_MAX) {
		beside->is_full = true;
		return 0;
	}
	neighbour = calloc(1, sizeof(*neighbour));
	if (!neighbour)
		return -ENOMEM;
	neighbour->thread = thread;
	memcpy(neighbour->key, key, sizeof(neighbour->key));
	(void)display_escape(request_id.bytes, request_id.size_bytes, neighbour->request_id,
			     sizeof(neighbour->request_id));
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, beside->neighbours, neighbour->key, sizeof(neighbour->key),
				    hash, neighbour);
	if (!neighbour->hh.tbl)
		return -ENOMEM;
	*ret_neighbour = TAKE_PTR(neighbour);
	return 0;
}

/* Finds or adds a neighbour, by thread and request_id; outside requests by thread and endpoint.
 * NULL: there is no room. 0, -ENOMEM. */
static int find_neighbour(struct beside *beside, const struct story_thread *thread,
			  struct record_text request_id, struct record_text endpoint,
			  struct neighbour **ret_neighbour)
{
	struct record_text name = request_id.size_bytes > 0 ? request_id : endpoint;
	uint64_t seed = request_id.size_bytes > 0 ? beside->seed : ~beside->seed;
	uint64_t key[2] = { (uint64_t)(uintptr_t)thread,
			    hash_bytes(seed, name.bytes, name.size_bytes) };
	unsigned int hash = hash_table_key(beside->seed, key, sizeof(key));

	HASH_FIND_BYHASHVALUE(hh, beside->neighbours, key, sizeof(key), hash, *ret_neighbour);
	return *ret_neighbour
		       ? 0
		       : open_neighbour(beside, thread, request_id, key, hash, ret_neighbour);
}

int beside_add(struct beside *beside, const struct story_thread *thread,
	       struct record_text request_id, struct record_text endpoint, struct beside_span span)
{
	struct beside_span *place;
	int r;

	if (span.cpu_ns == 0 || span.end_ns < span.start_ns)
		return 0;
	r = find_neighbour(beside, thread, request_id, endpoint, &span.who);
	if (r < 0 || !span.who)
		return r;
	if (endpoint.size_bytes > 0)
		(void)display_escape(endpoint.bytes, endpoint.size_bytes, span.who->endpoint,
				     sizeof(span.who->endpoint));
	span.who->span_count++;
	r = make_room(beside, &place);
	if (r == 0)
		*place = span;
	return r;
}

static int compare_places(const struct beside_wait *a, const struct beside_wait *b)
{
	int order = compare_u64((uintptr_t)a->host, (uintptr_t)b->host);

	return order ? order : compare_i64(a->cpu_number, b->cpu_number);
}

static int compare_waits(const void *a, const void *b)
{
	const struct beside_wait *one = a, *other = b;
	int order = compare_places(one, other);

	return order ? order : compare_i64(one->start_ns, other->start_ns);
}

/* Sorts waits and merges those that overlap, as two threads of a request may wait for one CPU at
 * once. Returns the number left. */
static size_t join_waits(struct beside_wait *waits, size_t wait_count)
{
	size_t count = 0;

	if (wait_count > 0)
		qsort(waits, wait_count, sizeof(*waits), compare_waits);
	for (size_t i = 0; i < wait_count; i++) {
		struct beside_wait *last = count > 0 ? &waits[count - 1] : NULL;
		bool is_same_place = last && compare_places(last, &waits[i]) == 0;

		if (is_same_place && waits[i].start_ns <= last->end_ns) {
			last->end_ns = larger(last->end_ns, waits[i].end_ns);
			continue;
		}
		waits[count] = waits[i];
		waits[count].before_ns =
			is_same_place ? last->before_ns + (last->end_ns - last->start_ns) : 0;
		count++;
	}
	return count;
}

/* Total wait for a CPU up to an instant (its start_ns). */
static int64_t waited_until(const struct beside_wait *waits, size_t count,
			    const struct beside_wait *instant)
{
	size_t low = 0, high = count;
	const struct beside_wait *last;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_waits(&waits[middle], instant) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	last = &waits[low - 1];
	if (compare_places(last, instant) != 0)
		return 0;
	return last->before_ns + smaller(last->end_ns, instant->start_ns) - last->start_ns;
}

static void judge_ahead(const struct beside_span *span, const struct beside_wait *waits,
			size_t wait_count)
{
	struct beside_wait start = { .host = span->who->thread->host,
				     .cpu_number = span->cpu_number,
				     .start_ns = span->start_ns };
	struct beside_wait end = start;

	if (!span->is_slice || span->cpu_number < 0)
		return;
	end.start_ns = span->end_ns;
	saturated_add_to(&span->who->ahead_ns, waited_until(waits, wait_count, &end) -
						       waited_until(waits, wait_count, &start));
}

static int compare_neighbours(const void *a, const void *b)
{
	const struct neighbour *one = *(const struct neighbour *const *)a;
	const struct neighbour *other = *(const struct neighbour *const *)b;
	int order = compare_i64(other->cpu_ns, one->cpu_ns);

	if (order == 0)
		order = strcmp(one->request_id, other->request_id);
	return order ? order : compare_i64(one->thread->key.tid, other->thread->key.tid);
}

static int rank(struct beside *beside)
{
	size_t room = HASH_COUNT(beside->neighbours);
	struct neighbour *neighbour, *next;

	if (room == 0)
		return 0;
	beside->ranking = calloc(room, sizeof(*beside->ranking));
	if (!beside->ranking)
		return -ENOMEM;
	HASH_ITER(hh, beside->neighbours, neighbour, next) {
		if (neighbour->cpu_ns > 0)
			beside->ranking[beside->ranking_count++] = neighbour;
	}
	if (beside->ranking_count > 0)
		qsort(beside->ranking, beside->ranking_count, sizeof(*beside->ranking),
		      compare_neighbours);
	return 0;
}

int beside_finish(struct beside *beside, bool by_slices, struct beside_wait *waits,
		  size_t wait_count)
{
	struct neighbour *neighbour, *next;

	wait_count = join_waits(waits, wait_count);
	for (size_t i = 0; i < beside->span_count; i++) {
		judge(&beside->spans[i]);
		judge_ahead(&beside->spans[i], waits, wait_count);
	}
	HASH_ITER(hh, beside->neighbours, neighbour, next) {
		if (!by_slices)
			neighbour->cpu_ns = neighbour->window_cpu_ns;
		neighbour->is_at_most &= !by_slices;
	}
	return rank(beside);
}

bool beside_is_incomplete(const struct beside *beside, const struct story_host *host)
{
	return host->has_span &&
	       (host->first_ns < beside->judged_until_ns || host->last_ns > beside->judged_from_ns);
}
