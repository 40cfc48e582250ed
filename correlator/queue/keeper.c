/* SPDX-License-Identifier: GPL-2.0-only */
/* The keeper: takes segments of a backlog from memory to its store, in a thread of its own. */
#include "queue/open_backlog.h"

#include <errno.h>
#include <string.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "queue/spill.h"

/* In a spool all is kept; what is open, as far as it goes, so that only a torn end can be lost. */
static bool is_work(const struct backlog *backlog, const struct segment *segment)
{
	if (segment->is_kept || !segment->bytes)
		return false;
	if (backlog_is_durable(backlog))
		return segment->is_sealed || segment->written_bytes < segment->size_bytes;
	return segment->is_sealed && !segment->is_taken &&
	       backlog->queue.memory_bytes > backlog->options.memory_bytes_max / 2;
}

/* The oldest that has something to write; NULL: none before *ret_until_ns. */
static struct segment *find_work(struct backlog *backlog, uint64_t *ret_until_ns)
{
	struct segment *open = segment_queue_find_open(&backlog->queue), *segment;
	uint64_t now_ns = clock_monotonic_ns();

	*ret_until_ns = UINT64_MAX;
	if (open && backlog_is_durable(backlog)) {
		*ret_until_ns = backlog_due_ns(backlog, open);
		if (*ret_until_ns <= now_ns || backlog->is_ending)
			backlog_seal_segment(backlog, open);
	}
	if (backlog->is_failing && now_ns < backlog->retry_ns && !backlog->is_ending) {
		*ret_until_ns = backlog->retry_ns;
		return NULL;
	}
	if (backlog->is_ending && !backlog_is_durable(backlog))
		return NULL;
	DL_FOREACH(backlog->queue.segments, segment)
		if (is_work(backlog, segment))
			return segment;
	return NULL;
}

static void wait_for_work(struct backlog *backlog, uint64_t until_ns)
{
	struct timespec until = clock_timespec(until_ns);

	if (until_ns == UINT64_MAX)
		(void)pthread_cond_wait(&backlog->work, &backlog->lock);
	else
		(void)pthread_cond_timedwait(&backlog->work, &backlog->lock, &until);
}

/* A segment that is off the queue: its file goes with it. */
static void discard(struct backlog *backlog, struct segment *segment)
{
	backlog->queue.store_bytes -= segment->written_bytes;
	(void)pthread_mutex_unlock(&backlog->lock);
	if (backlog->store)
		backlog->store->type->remove(backlog->store, segment);
	segment_free(segment);
	(void)pthread_mutex_lock(&backlog->lock);
}

static void empty_trash(struct backlog *backlog)
{
	struct segment *segment;

	while ((segment = backlog->trash)) {
		DL_DELETE(backlog->trash, segment);
		discard(backlog, segment);
	}
}

/* Drops the oldest of those in the store that are not in use, until so many bytes are free. */
static int replace(struct backlog *backlog, uint64_t size_bytes, const char *reason)
{
	uint64_t freed_bytes = 0;
	struct segment *segment;

	while (freed_bytes < size_bytes) {
		DL_FOREACH(backlog->queue.segments, segment)
			if (segment->is_kept && segment_may_leave(segment))
				break;
		if (!segment)
			return -ENOSPC;
		freed_bytes += segment->written_bytes;
		backlog_lose(backlog, segment, reason);
		discard(backlog, segment);
	}
	return 0;
}

/* Within what we were given, and what the disk has. When others fill it, we do not grow, but keep
 * what is ours. -ENOSPC: not possible. */
static int make_room(struct backlog *backlog, size_t size_bytes)
{
	uint64_t max_bytes = backlog->options.store_bytes_max, room_bytes;

	if (backlog->queue.store_bytes + size_bytes > max_bytes &&
	    replace(backlog, backlog->queue.store_bytes + size_bytes - max_bytes,
		    backlog_is_durable(backlog) ? "spool full" : "spill file full") < 0)
		return -ENOSPC;
	(void)pthread_mutex_unlock(&backlog->lock);
	room_bytes = backlog->store->type->room(backlog->store);
	(void)pthread_mutex_lock(&backlog->lock);
	return room_bytes >= size_bytes ? 0 : replace(backlog, size_bytes, "disk full");
}

/* Writes what is new of it, and seals it if that was all. The lock is not held meanwhile. */
static int keep(struct backlog *backlog, struct segment *segment)
{
	struct store *store = backlog->store;
	size_t written_bytes = segment->written_bytes, size_bytes = segment->size_bytes;
	bool is_sealed = segment->is_sealed;
	int r;

	(void)pthread_mutex_unlock(&backlog->lock);
	r = store->type->write(store, segment, segment->bytes + written_bytes,
			       size_bytes - written_bytes);
	if (r == 0 && is_sealed)
		r = store->type->seal(store, segment);
	(void)pthread_mutex_lock(&backlog->lock);
	backlog->queue.store_bytes += segment->written_bytes - written_bytes;
	if (r < 0 || !is_sealed)
		return r;
	segment->is_kept = true;
	/* While the store was failing, the reader may have taken it from memory. */
	if (!segment->is_taken)
		segment_queue_unload(&backlog->queue, segment);
	return 0;
}

static int open_store(struct backlog *backlog)
{
	struct store *store;
	int r;

	(void)pthread_mutex_unlock(&backlog->lock);
	r = spill_open(&store);
	(void)pthread_mutex_lock(&backlog->lock);
	if (r == 0)
		backlog->store = store;
	return r;
}

/* Says once when it starts to fail, and once when it is well again. The lock is not held meanwhile:
 * whoever reads stderr may take his time. */
static void say_result(struct backlog *backlog, int r)
{
	const char *name =
		backlog->store ? backlog->store->name : "a temporary file (in TMPDIR, or /var/tmp)";

	(void)pthread_mutex_unlock(&backlog->lock);
	if (r < 0)
		log_warning("cannot keep records in %s: %s; they wait in memory, at most %zu KiB",
			    name, strerror(-r), backlog->options.memory_bytes_max / 1024);
	else
		log_info("records are kept in %s again", name);
	(void)pthread_mutex_lock(&backlog->lock);
}

static int store_segment(struct backlog *backlog, struct segment *segment)
{
	int r;

	segment->is_busy = true;
	r = make_room(backlog, segment->size_bytes - segment->written_bytes);
	if (r == 0)
		r = keep(backlog, segment);
	/* A quota, or a disk that fills up faster than it says. */
	if ((r == -ENOSPC || r == -EDQUOT) &&
	    replace(backlog, segment->size_bytes, "disk full") == 0)
		r = keep(backlog, segment);
	segment->is_busy = false;
	if (segment->is_kept)
		backlog_wake_reader(backlog);
	return r;
}

/* While a store is opened, the segment may be dropped as any other: it is looked for again then. */
static void do_work(struct backlog *backlog, struct segment *segment)
{
	bool was_failing = backlog->is_failing;
	int r = backlog->store ? store_segment(backlog, segment) : open_store(backlog);

	backlog->tries++;
	backlog->is_failing = r < 0;
	if (r < 0) {
		backlog->retry_ns = clock_monotonic_ns() + NS_PER_S;
		backlog_wake_reader(backlog);
	}
	(void)pthread_cond_broadcast(&backlog->settled);
	if (backlog->is_failing != was_failing)
		say_result(backlog, r);
}

static void *keep_segments(void *user)
{
	struct backlog *backlog = user;
	struct segment *segment;
	uint64_t until_ns;
	bool is_last_try;

	(void)pthread_mutex_lock(&backlog->lock);
	for (;;) {
		empty_trash(backlog);
		is_last_try = backlog->is_ending;
		segment = find_work(backlog, &until_ns);
		if (segment)
			do_work(backlog, segment);
		if (is_last_try && (!segment || backlog->is_failing))
			break;
		if (!segment)
			wait_for_work(backlog, until_ns);
	}
	(void)pthread_mutex_unlock(&backlog->lock);
	return NULL;
}

int keeper_start(struct backlog *backlog)
{
	int r = thread_start(&backlog->keeper, keep_segments, backlog);

	backlog->has_keeper = r == 0;
	return r;
}

void keeper_stop(struct backlog *backlog)
{
	if (!backlog->has_keeper)
		return;
	(void)pthread_mutex_lock(&backlog->lock);
	backlog->is_ending = true;
	backlog_wake_keeper(backlog);
	(void)pthread_mutex_unlock(&backlog->lock);
	(void)pthread_join(backlog->keeper, NULL);
}
