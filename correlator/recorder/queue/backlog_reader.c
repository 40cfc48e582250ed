/* SPDX-License-Identifier: GPL-2.0-only */
/* The reading end of a backlog: the chunks that the sender takes. */
#include "recorder/queue/open_backlog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "record/check.h"
#include "record/entry_scan.h"

/* Removes a segment that was sent, or that cannot be read. */
static void release(struct backlog *backlog, struct segment *segment)
{
	segment_queue_remove(&backlog->queue, segment);
	backlog_throw_away(backlog, segment);
	if (backlog->queue.segments)
		backlog_wake_reader(backlog);
}

/* The oldest segment that is neither deferred nor unread. Retries the unread ones when they are
 * due. */
static struct segment *find_oldest(struct backlog *backlog)
{
	if (backlog->unread_until_ns && clock_monotonic_ns() >= backlog->unread_until_ns) {
		segment_queue_recall_unread(&backlog->queue);
		backlog->unread_until_ns = 0;
	}
	return segment_queue_find_next(&backlog->queue, NULL);
}

/* The taken segment, or else the oldest one that may be sent. */
static int find_ready(struct backlog *backlog, struct segment **ret_segment)
{
	struct segment *taken = segment_queue_find_taken(&backlog->queue);
	struct segment *oldest = taken ? taken : find_oldest(backlog);
	uint64_t due_ns;

	if (!oldest) {
		if (backlog->unread_until_ns)
			backlog_wake_reader_at(backlog, backlog->unread_until_ns);
		return -EAGAIN;
	}
	/* The keeper wakes the reader when the segment is kept, or cannot be. */
	if (backlog_is_durable(backlog) && !oldest->is_kept &&
	    !(oldest->is_sealed && backlog->is_failing))
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

/* The bytes are gone for good; any other error is transient. */
static bool is_loss(int r)
{
	return r == -ENOENT || r == -ENODATA;
}

/* Releases the lock while logging: the reader of stderr may be slow. */
static void say_read(struct backlog *backlog, const struct segment *segment, int r)
{
	bool is_first = !backlog->has_said_unread;
	const char *name = backlog->store->name;
	uint32_t entries = segment->entries;

	if (!is_loss(r))
		backlog->has_said_unread = r < 0;
	(void)pthread_mutex_unlock(&backlog->lock);
	if (is_loss(r))
		log_warning("cannot read %" PRIu32 " records back from %s: %s; they are lost",
			    entries, name, strerror(-r));
	else if (r < 0 && is_first)
		log_warning("cannot read records back from %s: %s; they stay there, and it is "
			    "tried again each second",
			    name, strerror(-r));
	else if (r == 0 && !is_first)
		log_info("records are read back from %s again", name);
	(void)pthread_mutex_lock(&backlog->lock);
}

/* Reads a segment back from the store. Releases the lock while reading; a taken segment stays. */
static int load(struct backlog *backlog, struct segment *segment)
{
	_cleanup_free_ uint8_t *bytes = malloc(segment->stored_bytes);
	int r;

	if (!bytes)
		return -ENOMEM;
	(void)pthread_mutex_unlock(&backlog->lock);
	r = backlog->store->type->read(backlog->store, segment, bytes);
	(void)pthread_mutex_lock(&backlog->lock);
	if (r < 0 || backlog->has_said_unread)
		say_read(backlog, segment, r);
	if (r < 0)
		return r;
	backlog->unread_rounds = 0;
	segment_queue_load(&backlog->queue, segment, TAKE_PTR(bytes));
	return 0;
}

/* Puts an unreadable segment behind the others and retries it after a second. */
static void put_off(struct backlog *backlog, struct segment *segment)
{
	segment->is_taken = false;
	segment->is_unread = true;
	if (!backlog->unread_until_ns) {
		backlog->unread_until_ns = clock_monotonic_ns() + NS_PER_S;
		backlog->unread_rounds++;
	}
	backlog_wake_reader(backlog);
}

/* Lower bound of the records lost. The entries of a segment that was cut off were counted when it
 * was salvaged; a check alone is not a record. */
static uint32_t count_lost(const struct segment *segment, uint32_t found_records, size_t lost_bytes)
{
	if (segment->entries > found_records)
		return segment->entries - found_records;
	return !segment->is_checked || lost_bytes > CHECK_BYTES;
}

/* Marks a segment as damaged, so that a spool sets it aside for inspection. Counts and logs it
 * once, however often it is taken. Releases the lock while logging. */
static void note_damage(struct backlog *backlog, struct segment *segment, uint32_t found_records,
			size_t lost_bytes)
{
	uint32_t lost_records = count_lost(segment, found_records, lost_bytes);

	if (segment->is_damaged)
		return;
	segment->is_damaged = true;
	backlog->queue.totals.damaged_segments++;
	if (lost_records)
		segment_queue_lose_some(&backlog->queue, segment, lost_records, "segment damaged");
	(void)pthread_mutex_unlock(&backlog->lock);
	log_warning("%s: a segment is damaged: at least %" PRIu32
		    " records are lost (%zu bytes), the other %" PRIu32 " are sent%s",
		    backlog->store ? backlog->store->name : "what waits to be sent", lost_records,
		    lost_bytes, found_records,
		    backlog->store && backlog->store->type->is_durable
			    ? ", and it is set aside in its folder damaged/"
			    : "");
	(void)pthread_mutex_lock(&backlog->lock);
}

/* Fills the chunk with whole entries only, whatever the disk returned. -ENODATA: there are none. */
static int fill_chunk(struct backlog *backlog, struct segment *segment)
{
	struct chunk *chunk = &backlog->chunk;
	struct segment found = { 0 };
	size_t lost_bytes =
		segment_salvage(&found, segment->has_checks, segment->bytes, segment->size_bytes)
			.lost_bytes;

	/* Happens once: only whole entries are left. */
	segment->size_bytes = found.size_bytes;
	segment->has_checks = false;
	chunk_id_write(segment->random, chunk->id);
	chunk->bytes = segment->bytes;
	chunk->size_bytes = found.size_bytes;
	chunk->entries = found.entries;
	if (lost_bytes || found.entries < segment->entries)
		note_damage(backlog, segment, found.entries, lost_bytes);
	return found.entries ? 0 : -ENODATA;
}

/* Drops a segment whose bytes are gone, and puts off one that cannot be read: -EAGAIN in both
 * cases, and the next one may be tried at once. */
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
	if (r < 0 && !is_loss(r)) {
		put_off(backlog, segment);
		return -EAGAIN;
	}
	if (r < 0) {
		segment->is_damaged = true;
		backlog->queue.totals.damaged_segments++;
		segment_queue_lose_segment(&backlog->queue, segment, "segment unreadable");
	} else {
		r = fill_chunk(backlog, segment);
	}
	if (r == 0)
		return 0;
	release(backlog, segment);
	segment_queue_recall(&backlog->queue);
	return -EAGAIN;
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
		if (r == 0 && !segment->is_taken)
			r = take(backlog, segment);
		if (r == 0)
			*ret_chunk = backlog->chunk;
	}
	(void)pthread_mutex_unlock(&backlog->lock);
	return r;
}

void backlog_done(struct backlog *backlog)
{
	struct segment *segment;

	(void)pthread_mutex_lock(&backlog->lock);
	segment = segment_queue_find_taken(&backlog->queue);
	if (segment)
		release(backlog, segment);
	segment_queue_recall(&backlog->queue);
	(void)pthread_mutex_unlock(&backlog->lock);
}

int backlog_defer(struct backlog *backlog)
{
	struct segment *segment;
	int r = -ENOENT;

	(void)pthread_mutex_lock(&backlog->lock);
	segment = segment_queue_find_taken(&backlog->queue);
	if (segment && (segment->next || segment->prev != segment)) {
		/* All others were deferred, too: starts another round. */
		if (!segment_queue_find_next(&backlog->queue, segment))
			segment_queue_recall(&backlog->queue);
		segment->is_taken = false;
		segment->is_deferred = true;
		backlog_wake_reader(backlog);
		r = 0;
	}
	(void)pthread_mutex_unlock(&backlog->lock);
	return r;
}

static int set_aside(struct store *store, const void *entry, size_t entry_bytes)
{
	int r = store->type->reject(store, entry, entry_bytes);

	return r < 0 ? log_error_errno(r, "cannot set aside a record in %s/rejected", store->name)
		     : 0;
}

int backlog_reject(struct backlog *backlog, const void *entry, size_t entry_bytes)
{
	struct store *spool;
	int r;

	(void)pthread_mutex_lock(&backlog->lock);
	spool = backlog_is_durable(backlog) ? backlog->store : NULL;
	(void)pthread_mutex_unlock(&backlog->lock);
	r = spool ? set_aside(spool, entry, entry_bytes) : -EOPNOTSUPP;
	(void)pthread_mutex_lock(&backlog->lock);
	backlog->queue.totals.rejected_records++;
	if (r < 0)
		segment_queue_lose_entry(&backlog->queue, entry_pid(entry, entry_bytes), entry,
					 "refused");
	(void)pthread_mutex_unlock(&backlog->lock);
	return r;
}

static int next(void *user, struct chunk *ret_chunk)
{
	return backlog_next(user, ret_chunk);
}

static void done(void *user)
{
	backlog_done(user);
}

static const char *reject(void *user, const void *entry, size_t entry_bytes)
{
	int r = backlog_reject(user, entry, entry_bytes);

	if (r == 0)
		return "it is set aside in the spool's folder rejected/";
	return r == -EOPNOTSUPP ? "it is lost; with --spool it would be set aside" : "it is lost";
}

static int defer(void *user)
{
	return backlog_defer(user);
}

struct chunk_source backlog_source(struct backlog *backlog)
{
	return (struct chunk_source){
		.user = backlog,
		.next = next,
		.done = done,
		.reject = reject,
		.defer = defer,
		.event_fd = backlog->timer_fd,
	};
}
