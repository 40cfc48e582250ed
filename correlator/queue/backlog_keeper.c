/* The thread that takes segments from memory to disk, so that no other waits for one. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "queue/backlog_internal.h"
#include "queue/spill.h"

static bool may_leave(const struct segment *segment)
{
	return !segment->is_taken && !segment->is_busy;
}

/* In a spool all is kept; what is open, as far as it goes, so that only a torn end can be lost. */
static bool is_work(const struct backlog *backlog, const struct segment *segment)
{
	if (segment->is_kept || !segment->bytes)
		return false;
	if (backlog_is_durable(backlog))
		return segment->is_sealed || segment->written_bytes < segment->size_bytes;
	return segment->is_sealed && !segment->is_taken &&
	       backlog->memory_bytes > backlog->options.memory_bytes_max / 2;
}

/* The oldest that has something to write; NULL: none before *ret_until_ns. */
static struct segment *find_work(struct backlog *backlog, uint64_t *ret_until_ns)
{
	struct segment *open = backlog_find_open(backlog), *segment;
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
	DL_FOREACH(backlog->segments, segment)
		if (is_work(backlog, segment))
			return segment;
	return NULL;
}

static void wait_for_work(struct backlog *backlog, uint64_t until_ns)
{
	struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
				  .tv_nsec = (long)(until_ns % NS_PER_S) };

	if (until_ns == UINT64_MAX)
		(void)pthread_cond_wait(&backlog->work, &backlog->lock);
	else
		(void)pthread_cond_timedwait(&backlog->work, &backlog->lock, &until);
}

/* A segment that is off the queue: its file goes with it. */
static void discard(struct backlog *backlog, struct segment *segment)
{
	backlog->store_bytes -= segment->written_bytes;
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
		DL_FOREACH(backlog->segments, segment)
			if (segment->is_kept && may_leave(segment))
				break;
		if (!segment)
			return -ENOSPC;
		freed_bytes += segment->written_bytes;
		backlog_drop(backlog, segment, reason);
		discard(backlog, segment);
	}
	return 0;
}

/* Within what we were given, and what the disk has. When others fill it, we do not grow, but keep
 * what is ours. -ENOSPC: not possible. */
static int make_room(struct backlog *backlog, size_t size_bytes)
{
	uint64_t max_bytes = backlog->options.store_bytes_max, room_bytes;

	if (backlog->store_bytes + size_bytes > max_bytes &&
	    replace(backlog, backlog->store_bytes + size_bytes - max_bytes,
		    backlog_is_durable(backlog) ? "spool full" : "spill file full"))
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
	int r = 0;

	(void)pthread_mutex_unlock(&backlog->lock);
	if (size_bytes > written_bytes)
		r = store->type->write(store, segment, segment->bytes + written_bytes,
				       size_bytes - written_bytes);
	if (!r && is_sealed)
		r = store->type->seal(store, segment);
	(void)pthread_mutex_lock(&backlog->lock);
	backlog->store_bytes += segment->written_bytes - written_bytes;
	if (r || !is_sealed)
		return r;
	segment->is_kept = true;
	/* While the store was failing, the reader may have taken it from memory. */
	if (!segment->is_taken) {
		backlog->memory_bytes -= segment->capacity_bytes;
		segment->capacity_bytes = 0;
		free(segment->bytes);
		segment->bytes = NULL;
	}
	return 0;
}

static int open_store(struct backlog *backlog)
{
	struct store *store;
	int r;

	(void)pthread_mutex_unlock(&backlog->lock);
	r = spill_open(&store);
	(void)pthread_mutex_lock(&backlog->lock);
	if (!r)
		backlog->store = store;
	return r;
}

/* Says once when it starts to fail, and once when it is well again. */
static void note_result(struct backlog *backlog, int result)
{
	bool was_failing = backlog->is_failing;
	const char *name =
		backlog->store ? backlog->store->name : "a temporary file (in TMPDIR, or /var/tmp)";

	backlog->is_failing = result != 0;
	if (result)
		backlog->retry_ns = clock_monotonic_ns() + NS_PER_S;
	if (result && !was_failing)
		log_warning("cannot keep records in %s: %s; they wait in memory, at most %zu KiB",
			    name, strerror(-result), backlog->options.memory_bytes_max / 1024);
	else if (!result && was_failing)
		log_info("records are kept in %s again", name);
}

static void do_work(struct backlog *backlog, struct segment *segment)
{
	int r = 0;

	segment->is_busy = true;
	if (!backlog->store)
		r = open_store(backlog);
	if (!r)
		r = make_room(backlog, segment->size_bytes - segment->written_bytes);
	if (!r)
		r = keep(backlog, segment);
	/* A quota, or a disk that fills up faster than it says. */
	if ((r == -ENOSPC || r == -EDQUOT) && backlog->store &&
	    !replace(backlog, segment->size_bytes, "disk full"))
		r = keep(backlog, segment);
	segment->is_busy = false;
	note_result(backlog, r);
	if (r || segment->is_kept)
		backlog_wake_reader(backlog);
	(void)pthread_cond_broadcast(&backlog->settled);
}

static void *keep_segments(void *user)
{
	struct backlog *backlog = user;
	struct segment *segment;
	uint64_t until_ns;

	(void)pthread_mutex_lock(&backlog->lock);
	for (;;) {
		empty_trash(backlog);
		segment = find_work(backlog, &until_ns);
		if (segment)
			do_work(backlog, segment);
		else if (backlog->is_ending)
			break;
		else
			wait_for_work(backlog, until_ns);
		if (backlog->is_ending && backlog->is_failing)
			break;
	}
	(void)pthread_mutex_unlock(&backlog->lock);
	return NULL;
}

static bool is_settled(const struct backlog *backlog)
{
	const struct segment *segment;

	if (!backlog->has_keeper || backlog->is_failing || !backlog_is_durable(backlog))
		return true;
	DL_FOREACH(backlog->segments, segment)
		if (segment->is_sealed && !segment->is_kept)
			return false;
	return true;
}

void backlog_settle(struct backlog *backlog)
{
	(void)pthread_mutex_lock(&backlog->lock);
	while (!is_settled(backlog))
		(void)pthread_cond_wait(&backlog->settled, &backlog->lock);
	(void)pthread_mutex_unlock(&backlog->lock);
}

int backlog_keeper_start(struct backlog *backlog)
{
	int r = thread_start(&backlog->keeper, keep_segments, backlog);

	backlog->has_keeper = r == 0;
	return r;
}

void backlog_keeper_stop(struct backlog *backlog)
{
	if (!backlog->has_keeper)
		return;
	(void)pthread_mutex_lock(&backlog->lock);
	backlog->is_ending = true;
	(void)pthread_cond_signal(&backlog->work);
	(void)pthread_mutex_unlock(&backlog->lock);
	(void)pthread_join(backlog->keeper, NULL);
}
