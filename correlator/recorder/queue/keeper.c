/* SPDX-License-Identifier: GPL-2.0-only */
/* The keeper thread moves segments of a backlog from memory to its store. */
#include "recorder/queue/open_backlog.h"

#include <errno.h>
#include <string.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "record/check.h"
#include "recorder/queue/spill.h"

/* A spool keeps everything, including the current bytes of an open segment, so that only a torn end
 * can be lost. */
static bool is_work(const struct backlog *backlog, const struct segment *segment)
{
	if (segment->is_kept || !segment->bytes)
		return false;
	if (backlog_is_durable(backlog))
		return segment->is_sealed || segment->written_bytes < segment->size_bytes;
	return segment->is_sealed && !segment->is_taken &&
	       backlog->queue.memory_bytes > backlog->options.memory_bytes_max / 2;
}

/* While other programs' data fills the disk, no segment is dropped as long as our memory has room,
 * unless a caller of backlog_settle() waits for the records to be on the disk. */
static bool must_replace(const struct backlog *backlog)
{
	return backlog->settling ||
	       backlog->queue.memory_bytes > backlog->options.memory_bytes_max / 2;
}

/* The disk is full, and the next try, which follows at once, drops segments to make room. */
static bool will_replace(const struct backlog *backlog)
{
	return backlog->is_full && !backlog->was_pressed && must_replace(backlog);
}

/* A failed store is retried after a pause; one with a full disk at once, when the next try may drop
 * segments. */
static bool is_pausing(const struct backlog *backlog, uint64_t now_ns)
{
	return backlog->is_failing && now_ns < backlog->retry_ns && !backlog->is_ending &&
	       !will_replace(backlog);
}

/* Seals the open segments that are due, and returns when the next one is. */
static uint64_t seal_what_is_due(struct backlog *backlog, uint64_t now_ns)
{
	uint64_t until_ns = UINT64_MAX, due_ns;

	for (unsigned int lane = 0; lane < SHARES_LANES; lane++) {
		struct segment *open = backlog->queue.open[lane];

		if (!open)
			continue;
		due_ns = backlog_due_ns(backlog, open);
		if (due_ns <= now_ns || backlog->is_ending)
			backlog_seal_segment(backlog, open);
		else if (due_ns < until_ns)
			until_ns = due_ns;
	}
	return until_ns;
}

/* The oldest segment with something to write. NULL: none before *ret_until_ns. */
static struct segment *find_work(struct backlog *backlog, uint64_t *ret_until_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct segment *segment;

	*ret_until_ns =
		backlog_is_durable(backlog) ? seal_what_is_due(backlog, now_ns) : UINT64_MAX;
	if (is_pausing(backlog, now_ns)) {
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

/* Frees a segment that is off the queue and removes its file. If the file stays, it still counts in
 * store_bytes; logs only the first of consecutive failures. Releases the lock while removing. */
static void discard(struct backlog *backlog, struct segment *segment)
{
	uint64_t stored_bytes = segment->stored_bytes;
	bool was_said = backlog->has_said_unremoved;
	int r = 0;

	(void)pthread_mutex_unlock(&backlog->lock);
	if (backlog->store)
		r = backlog->store->type->remove(backlog->store, segment);
	if (r < 0 && !was_said)
		log_warning("cannot remove delivered records from %s: %s; the next sender "
			    "sends them again",
			    backlog->store->name, strerror(-r));
	segment_free(segment);
	(void)pthread_mutex_lock(&backlog->lock);
	if (r == 0)
		backlog->queue.store_bytes -= stored_bytes;
	backlog->has_said_unremoved = r < 0;
}

/* Discards the trash except segments that are still being written. Releases the lock while removing
 * files. */
static void empty_trash(struct backlog *backlog)
{
	struct segment *segment;

	do {
		DL_FOREACH(backlog->trash, segment)
			if (!segment->is_busy)
				break;
		if (segment) {
			DL_DELETE(backlog->trash, segment);
			discard(backlog, segment);
		}
	} while (segment);
}

static bool may_be_replaced(const struct segment *segment)
{
	return segment->is_kept && segment_may_leave(segment);
}

/* Drops segments in the store that are not in use, until size_bytes are free. -ENOSPC: they have
 * less in total, and none is dropped; or we are ending, and no `gap` record would report them. */
static int replace(struct backlog *backlog, uint64_t size_bytes, const char *reason)
{
	uint64_t freed_bytes = 0;
	struct segment *segment;

	if (backlog->is_ending)
		return -ENOSPC;
	DL_FOREACH(backlog->queue.segments, segment)
		if (may_be_replaced(segment))
			freed_bytes += segment->stored_bytes;
	if (freed_bytes < size_bytes)
		return -ENOSPC;
	for (freed_bytes = 0; freed_bytes < size_bytes;) {
		segment = segment_queue_find_victim(&backlog->queue, may_be_replaced);
		if (!segment)
			break;
		freed_bytes += segment->stored_bytes;
		backlog_lose(backlog, segment, reason);
		discard(backlog, segment);
	}
	return 0;
}

/* Checks whether others fill the store's disk, and returns the limit of store_bytes. While they do,
 * it stays at what the store held when that began: dropping one large segment makes room for
 * several small ones. Releases the lock while checking. */
static uint64_t find_limit(struct backlog *backlog, size_t size_bytes)
{
	uint64_t room_bytes;

	(void)pthread_mutex_unlock(&backlog->lock);
	room_bytes = backlog->store->type->room(backlog->store);
	(void)pthread_mutex_lock(&backlog->lock);
	if (room_bytes >= size_bytes)
		backlog->full_at_bytes = UINT64_MAX;
	else if (backlog->full_at_bytes == UINT64_MAX)
		backlog->full_at_bytes = backlog->queue.store_bytes;
	return backlog_store_limit(backlog);
}

/* 0, or -ENOSPC: no room can be made, or nothing may be dropped for it yet. */
static int make_room(struct backlog *backlog, size_t size_bytes)
{
	uint64_t limit_bytes = find_limit(backlog, size_bytes), wanted_bytes;

	/* Segments that were sent may still have files: remove these before dropping anything. */
	if (backlog->queue.store_bytes + size_bytes > limit_bytes)
		empty_trash(backlog);
	wanted_bytes = backlog->queue.store_bytes + size_bytes;
	if (wanted_bytes <= limit_bytes)
		return 0;
	if (limit_bytes == backlog->options.store_bytes_max)
		return replace(backlog, wanted_bytes - limit_bytes,
			       backlog_is_durable(backlog) ? "spool full" : "spill file full");
	return must_replace(backlog) ? replace(backlog, wanted_bytes - limit_bytes, "disk full")
				     : -ENOSPC;
}

/* Writes the segment's new bytes, and seals its file if the segment is sealed. Releases the lock
 * while writing. */
static int keep(struct backlog *backlog, struct segment *segment)
{
	struct store *store = backlog->store;
	size_t written_bytes = segment->written_bytes, size_bytes = segment->size_bytes;
	size_t stored_bytes = segment->stored_bytes;
	bool is_sealed = segment->is_sealed;
	int r;

	(void)pthread_mutex_unlock(&backlog->lock);
	r = store->type->write(store, segment, segment->bytes + written_bytes,
			       size_bytes - written_bytes);
	if (r == 0 && is_sealed)
		r = store->type->seal(store, segment);
	(void)pthread_mutex_lock(&backlog->lock);
	backlog->queue.store_bytes += segment->stored_bytes - stored_bytes;
	if (r < 0 || !is_sealed)
		return r;
	segment->is_kept = true;
	/* While the store was failing, the reader may have taken the segment from memory. */
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

/* Logs once when the store starts to fail, and once when it has recovered; after a full disk only
 * once it was not full for a while, because writes succeed in between when segments replace others.
 * Releases the lock while logging: the reader of stderr may be slow. */
static void say_result(struct backlog *backlog, int r, uint64_t now_ns)
{
	const uint64_t full_again_ns = 10 * NS_PER_S;
	const char *name =
		backlog->store ? backlog->store->name : "a temporary file (in TMPDIR, or /var/tmp)";

	if ((r < 0) == backlog->has_said_failing ||
	    (r == 0 && backlog->full_ns && now_ns - backlog->full_ns < full_again_ns))
		return;
	backlog->has_said_failing = r < 0;
	backlog->full_ns = r < 0 ? backlog->full_ns : 0;
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
	r = make_room(backlog, segment->size_bytes - segment->written_bytes + 2 * CHECK_BYTES);
	if (r == 0)
		r = keep(backlog, segment);
	/* A quota, or a disk that fills up faster than statvfs(3) reports. */
	if ((r == -ENOSPC || r == -EDQUOT) && must_replace(backlog) &&
	    replace(backlog, segment->size_bytes, "disk full") == 0)
		r = keep(backlog, segment);
	segment->is_busy = false;
	if (segment->is_kept)
		backlog_wake_reader(backlog);
	return r;
}

/* Opening a store releases the lock, and any segment may be dropped in that time: the caller looks
 * for work again. */
static void do_work(struct backlog *backlog, struct segment *segment)
{
	bool was_pressed = must_replace(backlog);
	int r = backlog->store ? store_segment(backlog, segment) : open_store(backlog);
	uint64_t now_ns = clock_monotonic_ns();

	backlog->tries++;
	backlog->is_hanging = false;
	backlog->is_failing = r < 0;
	if (r < 0) {
		backlog->retry_ns = now_ns + NS_PER_S;
		backlog_wake_reader(backlog);
	}
	backlog->is_full = r == -ENOSPC || r == -EDQUOT;
	if (backlog->is_full)
		backlog->full_ns = now_ns;
	backlog->was_pressed = was_pressed;
	(void)pthread_cond_broadcast(&backlog->settled);
	say_result(backlog, r, now_ns);
}

static bool has_work(const struct backlog *backlog)
{
	const struct segment *segment;

	if (backlog->trash)
		return true;
	DL_FOREACH(backlog->queue.segments, segment)
		if (segment->is_busy || (segment->is_sealed && is_work(backlog, segment)))
			return true;
	return false;
}

bool keeper_await_progress(struct backlog *backlog)
{
	struct timespec until =
		clock_timespec(clock_monotonic_ns() + BACKLOG_PATIENCE_MS * NS_PER_MS);
	uint64_t tries = backlog->tries;
	int r = 0;

	if (backlog->is_hanging || !has_work(backlog))
		return false;
	if (backlog->is_failing && !will_replace(backlog))
		return false;
	backlog_wake_keeper(backlog);
	while (r == 0 && backlog->tries == tries)
		r = pthread_cond_timedwait(&backlog->settled, &backlog->lock, &until);
	backlog->is_hanging = backlog->tries == tries;
	return !backlog->is_hanging;
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
