/* The backlog as the thread that sends sees it: one chunk at a time, the oldest first. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "queue/backlog_internal.h"

static struct segment *find_taken(const struct backlog *backlog)
{
	struct segment *segment;

	DL_FOREACH(backlog->segments, segment)
		if (segment->is_taken)
			return segment;
	return NULL;
}

/* The oldest that is neither deferred nor the one excepted. */
static struct segment *find_undeferred(const struct backlog *backlog, const struct segment *except)
{
	struct segment *segment;

	DL_FOREACH(backlog->segments, segment)
		if (!segment->is_deferred && segment != except)
			return segment;
	return NULL;
}

static void recall_deferred(struct backlog *backlog)
{
	struct segment *segment;

	DL_FOREACH(backlog->segments, segment)
		segment->is_deferred = false;
}

/* The one that is taken, or else the oldest one that may be sent. */
static int find_ready(struct backlog *backlog, struct segment **ret_segment)
{
	struct segment *taken = find_taken(backlog);
	struct segment *oldest = taken ? taken : find_undeferred(backlog, NULL);
	bool is_durable = backlog_is_durable(backlog);
	uint64_t due_ns;

	if (!oldest)
		return -EAGAIN;
	/* The keeper says when it is kept, or that it cannot be. */
	if (is_durable && !oldest->is_kept && !(oldest->is_sealed && backlog->is_failing))
		return -EAGAIN;
	if (!oldest->is_sealed) {
		due_ns = backlog_due_ns(backlog, oldest);
		if (clock_monotonic_ns() < due_ns) {
			backlog_wake_reader_at(backlog, due_ns);
			return -EAGAIN;
		}
		backlog_seal_segment(backlog, oldest);
	}
	*ret_segment = oldest;
	return 0;
}

/* Reads it back from the store. The lock is not held meanwhile; a segment that is taken stays. */
static int load(struct backlog *backlog, struct segment *segment)
{
	_cleanup_free_ uint8_t *bytes = malloc(segment->size_bytes ? segment->size_bytes : 1);
	int r;

	if (!bytes)
		return -ENOMEM;
	(void)pthread_mutex_unlock(&backlog->lock);
	r = backlog->store->type->read(backlog->store, segment, bytes);
	if (r)
		log_warning("cannot read %" PRIu32 " records back from %s: %s", segment->entries,
			    backlog->store->name, strerror(-r));
	(void)pthread_mutex_lock(&backlog->lock);
	if (r)
		return r;
	segment->bytes = TAKE_PTR(bytes);
	segment->capacity_bytes = segment->size_bytes;
	backlog->memory_bytes += segment->capacity_bytes;
	return 0;
}

/* Only whole entries go out, whatever the disk gave back. -ENODATA: there are none. */
static int fill_chunk(struct backlog *backlog, const struct segment *segment)
{
	struct chunk *chunk = &backlog->chunk;
	struct segment found = { 0 };

	segment_salvage(&found, segment->bytes, segment->size_bytes);
	chunk_id_write(segment->random, chunk->id);
	chunk->bytes = segment->bytes;
	chunk->size_bytes = found.size_bytes;
	chunk->entries = found.entries;
	if (found.entries < segment->entries)
		backlog_count_gap(backlog, segment->entries - found.entries, 0, segment->first_ns,
				  segment->last_ns, "segment damaged");
	return found.entries ? 0 : -ENODATA;
}

/* What cannot be read is dropped; -EAGAIN then, and the next may be tried at once. */
static int take(struct backlog *backlog, struct segment *segment)
{
	int r = 0;

	segment->is_taken = true;
	if (!segment->bytes)
		r = load(backlog, segment);
	if (r == -ENOMEM) {
		segment->is_taken = false;
		return r;
	}
	if (r)
		backlog_count_gap(backlog, segment->entries, 1, segment->first_ns, segment->last_ns,
				  "segment unreadable");
	else
		r = fill_chunk(backlog, segment);
	if (!r)
		return 0;
	backlog_release(backlog, segment);
	recall_deferred(backlog);
	return -EAGAIN;
}

int backlog_event_fd(const struct backlog *backlog)
{
	return backlog->timer_fd;
}

int backlog_next(struct backlog *backlog, struct chunk *ret_chunk)
{
	struct segment *segment;
	uint64_t expirations;
	int r;

	(void)pthread_mutex_lock(&backlog->lock);
	if (read(backlog->timer_fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN) {
		r = -errno;
	} else {
		r = find_ready(backlog, &segment);
		if (!r && !segment->is_taken)
			r = take(backlog, segment);
		if (!r)
			*ret_chunk = backlog->chunk;
	}
	(void)pthread_mutex_unlock(&backlog->lock);
	return r;
}

void backlog_done(struct backlog *backlog)
{
	struct segment *segment;

	(void)pthread_mutex_lock(&backlog->lock);
	segment = find_taken(backlog);
	if (segment)
		backlog_release(backlog, segment);
	recall_deferred(backlog);
	(void)pthread_mutex_unlock(&backlog->lock);
}

int backlog_defer(struct backlog *backlog)
{
	struct segment *segment;
	int r = -ENOENT;

	(void)pthread_mutex_lock(&backlog->lock);
	segment = find_taken(backlog);
	if (segment && (segment->next || segment->prev != segment)) {
		/* All others had their turn: another round. */
		if (!find_undeferred(backlog, segment))
			recall_deferred(backlog);
		segment->is_taken = false;
		segment->is_deferred = true;
		backlog_wake_reader(backlog);
		r = 0;
	}
	(void)pthread_mutex_unlock(&backlog->lock);
	return r;
}

int backlog_reject(struct backlog *backlog, const void *entry, size_t entry_bytes)
{
	struct store *store;
	int r = 0;

	(void)pthread_mutex_lock(&backlog->lock);
	backlog->totals.rejected_records++;
	store = backlog_is_durable(backlog) ? backlog->store : NULL;
	(void)pthread_mutex_unlock(&backlog->lock);
	if (!store)
		return -EOPNOTSUPP;
	r = store->type->reject(store, entry, entry_bytes);
	return r ? log_error_errno(r, "cannot set aside a record in %s/rejected", store->name) : 0;
}
