/* SPDX-License-Identifier: GPL-2.0-only */
#include "queue/backlog.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "queue/segment.h"
#include "queue/spill.h"
#include "queue/spool.h"
#include "queue/store.h"
#include "record/entry_scan.h"

struct backlog {
	struct backlog_options options; /* the defaults filled in */
	pthread_mutex_t lock; /* guards all below; nothing slow is done under it */
	int timer_fd; /* due at once when a chunk is ready, later while one is open */
	struct segment_queue queue;
	struct chunk chunk; /* of the segment that is taken */
	/* The keeper's, the thread that takes segments from memory to disk: */
	struct store *store; /* NULL = none yet, or none to be had */
	pthread_t keeper;
	pthread_cond_t work; /* for the keeper */
	pthread_cond_t settled; /* for who waits for the keeper */
	bool has_keeper;
	bool is_ending;
	struct segment *trash; /* off the queue; with a file, or still in the keeper's hands */
	bool is_failing; /* the store takes nothing more: memory alone, for now */
	uint64_t retry_ns; /* CLOCK_MONOTONIC: when it is worth another try */
	uint64_t tries; /* of segments, so far */
};

static void wake_reader_at(struct backlog *backlog, uint64_t due_ns)
{
	struct itimerspec due = { .it_value = clock_timespec(due_ns) };

	(void)timerfd_settime(backlog->timer_fd, TFD_TIMER_ABSTIME, &due, NULL);
}

static void wake_reader(struct backlog *backlog)
{
	/* Long past; 0 would disarm it. */
	wake_reader_at(backlog, 1);
}

static void wake_keeper(struct backlog *backlog)
{
	(void)pthread_cond_signal(&backlog->work);
}

static bool is_durable(const struct backlog *backlog)
{
	return backlog->store && backlog->store->type->is_durable;
}

static uint64_t find_due_ns(const struct backlog *backlog, const struct segment *open)
{
	/* While others wait before it there is no haste: fewer, larger files. */
	const uint64_t patience = 5;

	return open->opened_ns +
	       backlog->options.seal_ns * (open == backlog->queue.segments ? 1 : patience);
}

static void seal_segment(struct backlog *backlog, struct segment *segment)
{
	segment_queue_seal(&backlog->queue, segment);
	wake_keeper(backlog);
	if (!is_durable(backlog))
		wake_reader(backlog);
}

/* Takes it off the queue, counted as lost: the caller throws it away. */
static void lose(struct backlog *backlog, struct segment *segment, const char *reason)
{
	segment_queue_count_lost(&backlog->queue, segment, segment->entries, true, reason);
	segment_queue_remove(&backlog->queue, segment);
}

/* What has a file, or is in the keeper's hands, is the keeper's to throw away. */
static void throw_away(struct backlog *backlog, struct segment *segment)
{
	if (!segment->is_busy && !segment->number && !segment->written_bytes) {
		segment_free(segment);
		return;
	}
	if (!segment->is_busy)
		free(TAKE_PTR(segment->bytes));
	DL_APPEND(backlog->trash, segment);
	wake_keeper(backlog);
}

/* Its reader is done with it, or it cannot be read. */
static void release(struct backlog *backlog, struct segment *segment)
{
	segment_queue_remove(&backlog->queue, segment);
	throw_away(backlog, segment);
	if (backlog->queue.segments)
		wake_reader(backlog);
}

static bool may_leave(const struct segment *segment)
{
	return !segment->is_taken && !segment->is_busy;
}

/* In a spool all is kept; what is open, as far as it goes, so that only a torn end can be lost. */
static bool is_work(const struct backlog *backlog, const struct segment *segment)
{
	if (segment->is_kept || !segment->bytes)
		return false;
	if (is_durable(backlog))
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
	if (open && is_durable(backlog)) {
		*ret_until_ns = find_due_ns(backlog, open);
		if (*ret_until_ns <= now_ns || backlog->is_ending)
			seal_segment(backlog, open);
	}
	if (backlog->is_failing && now_ns < backlog->retry_ns && !backlog->is_ending) {
		*ret_until_ns = backlog->retry_ns;
		return NULL;
	}
	if (backlog->is_ending && !is_durable(backlog))
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
			if (segment->is_kept && may_leave(segment))
				break;
		if (!segment)
			return -ENOSPC;
		freed_bytes += segment->written_bytes;
		lose(backlog, segment, reason);
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
		    is_durable(backlog) ? "spool full" : "spill file full") < 0)
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
		wake_reader(backlog);
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
		wake_reader(backlog);
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

static void stop_keeper(struct backlog *backlog)
{
	if (!backlog->has_keeper)
		return;
	(void)pthread_mutex_lock(&backlog->lock);
	backlog->is_ending = true;
	wake_keeper(backlog);
	(void)pthread_mutex_unlock(&backlog->lock);
	(void)pthread_join(backlog->keeper, NULL);
}

static void set_defaults(struct backlog_options *options)
{
	if (!options->segment_bytes)
		options->segment_bytes = BACKLOG_SEGMENT_BYTES;
	if (!options->memory_bytes_max)
		options->memory_bytes_max = BACKLOG_MEMORY_BYTES;
	if (!options->seal_ns)
		options->seal_ns = BACKLOG_SEAL_MS * NS_PER_MS;
	if (!options->store_bytes_max)
		options->store_bytes_max = BACKLOG_STORE_BYTES;
}

static int init_locks(struct backlog *backlog)
{
	pthread_condattr_t attributes;

	(void)pthread_mutex_init(&backlog->lock, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&backlog->work, &attributes);
	(void)pthread_cond_init(&backlog->settled, NULL);
	(void)pthread_condattr_destroy(&attributes);
	backlog->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return backlog->timer_fd < 0 ? -errno : 0;
}

static int load_spool(struct backlog *backlog, const char *path)
{
	const struct segment *segment;
	int r = spool_open(path, &backlog->store, &backlog->queue.segments);

	DL_FOREACH(backlog->queue.segments, segment)
		backlog->queue.store_bytes += segment->written_bytes;
	if (backlog->queue.segments)
		wake_reader(backlog);
	return r;
}

int backlog_new(const struct backlog_options *options, struct backlog **ret_backlog)
{
	_cleanup_(backlog_freep) struct backlog *backlog = calloc(1, sizeof(*backlog));
	int r;

	if (!backlog)
		return -ENOMEM;
	if (options)
		backlog->options = *options;
	set_defaults(&backlog->options);
	r = init_locks(backlog);
	if (r == 0 && backlog->options.spool)
		r = load_spool(backlog, backlog->options.spool);
	backlog->options.spool = NULL;
	if (r == 0)
		r = thread_start(&backlog->keeper, keep_segments, backlog);
	if (r < 0)
		return r;
	backlog->has_keeper = true;
	*ret_backlog = TAKE_PTR(backlog);
	return 0;
}

void backlog_free(struct backlog *backlog)
{
	struct segment *segment, *next;

	if (!backlog)
		return;
	stop_keeper(backlog);
	DL_FOREACH_SAFE(backlog->queue.segments, segment, next)
		segment_free(segment);
	if (backlog->store)
		backlog->store->type->free(backlog->store);
	cleanup_fd(&backlog->timer_fd);
	(void)pthread_cond_destroy(&backlog->work);
	(void)pthread_cond_destroy(&backlog->settled);
	(void)pthread_mutex_destroy(&backlog->lock);
	free(backlog);
}

/* Makes room in memory. False: all that is there is in use. */
static bool drop_oldest(struct backlog *backlog)
{
	struct segment *segment;

	DL_FOREACH(backlog->queue.segments, segment)
		if (segment->bytes && may_leave(segment))
			break;
	if (!segment)
		return false;
	/* A deferred one that was read back: it is in the store still. */
	if (segment->is_kept) {
		segment_queue_unload(&backlog->queue, segment);
		return true;
	}
	lose(backlog, segment, "memory queue full");
	throw_away(backlog, segment);
	return true;
}

/* A new open segment with room for an entry. -ENOBUFS: memory is full of what is in use. */
static int open_segment(struct backlog *backlog, size_t entry_bytes, struct segment **ret_segment)
{
	size_t capacity_bytes = backlog->options.segment_bytes;
	struct segment *segment;
	int r;

	if (capacity_bytes < entry_bytes)
		capacity_bytes = entry_bytes;
	while (backlog->queue.memory_bytes + capacity_bytes > backlog->options.memory_bytes_max)
		if (!drop_oldest(backlog))
			return -ENOBUFS;
	r = segment_new(capacity_bytes, &segment);
	if (r < 0)
		return r;
	segment->opened_ns = clock_monotonic_ns();
	segment_queue_add(&backlog->queue, segment);
	/* Behind another one it must not put off what the fd has to say of that. */
	if (backlog->queue.segments == segment && !is_durable(backlog))
		wake_reader_at(backlog, find_due_ns(backlog, segment));
	*ret_segment = segment;
	return 0;
}

static int append_entry(struct backlog *backlog, const uint8_t *entry, size_t entry_bytes)
{
	struct segment *open = segment_queue_find_open(&backlog->queue);
	uint64_t time_ns;
	int r;

	if (open && segment_put(open, entry, entry_bytes))
		return 0;
	if (open)
		seal_segment(backlog, open);
	r = open_segment(backlog, entry_bytes, &open);
	if (r == 0)
		(void)segment_put(open, entry, entry_bytes);
	if (r != -ENOBUFS && r != -ENOMEM)
		return r;
	time_ns = entry_time_ns(entry);
	segment_queue_count_gap(
		&backlog->queue,
		&(struct backlog_gap){ 1, 0, time_ns, time_ns,
				       r == -ENOMEM ? "no memory" : "memory queue full" });
	return 0;
}

int backlog_append(struct backlog *backlog, const void *entries, size_t size_bytes)
{
	const uint8_t *bytes = entries;
	size_t entry_bytes;
	int r = 0;

	(void)pthread_mutex_lock(&backlog->lock);
	for (size_t at = 0; r == 0 && at < size_bytes; at += entry_bytes) {
		r = entry_scan(bytes + at, size_bytes - at, &entry_bytes);
		if (r < 0)
			break;
		r = append_entry(backlog, bytes + at, entry_bytes);
	}
	if (is_durable(backlog))
		wake_keeper(backlog);
	(void)pthread_mutex_unlock(&backlog->lock);
	return r == -EAGAIN ? -EBADMSG : r;
}

void backlog_seal(struct backlog *backlog)
{
	struct segment *open;

	(void)pthread_mutex_lock(&backlog->lock);
	open = segment_queue_find_open(&backlog->queue);
	if (open)
		seal_segment(backlog, open);
	(void)pthread_mutex_unlock(&backlog->lock);
}

/* tries: before it was asked for. */
static bool is_settled(const struct backlog *backlog, uint64_t tries)
{
	const struct segment *segment;

	if (!is_durable(backlog) || (backlog->is_failing && backlog->tries > tries))
		return true;
	DL_FOREACH(backlog->queue.segments, segment)
		if (segment->is_sealed && !segment->is_kept)
			return false;
	return true;
}

void backlog_settle(struct backlog *backlog)
{
	uint64_t tries;

	(void)pthread_mutex_lock(&backlog->lock);
	tries = backlog->tries;
	backlog->retry_ns = 0;
	wake_keeper(backlog);
	while (!is_settled(backlog, tries))
		(void)pthread_cond_wait(&backlog->settled, &backlog->lock);
	(void)pthread_mutex_unlock(&backlog->lock);
}

bool backlog_take_gap(struct backlog *backlog, struct backlog_gap *ret_gap)
{
	(void)pthread_mutex_lock(&backlog->lock);
	*ret_gap = backlog->queue.gap;
	backlog->queue.gap = (struct backlog_gap){ 0 };
	(void)pthread_mutex_unlock(&backlog->lock);
	return ret_gap->dropped_records || ret_gap->dropped_segments;
}

/* The one that is taken, or else the oldest one that may be sent. */
static int find_ready(struct backlog *backlog, struct segment **ret_segment)
{
	struct segment *taken = segment_queue_find_taken(&backlog->queue);
	struct segment *oldest = taken ? taken : segment_queue_find_next(&backlog->queue, NULL);
	uint64_t due_ns;

	if (!oldest)
		return -EAGAIN;
	/* The keeper says when it is kept, or that it cannot be. */
	if (is_durable(backlog) && !oldest->is_kept && !(oldest->is_sealed && backlog->is_failing))
		return -EAGAIN;
	if (!oldest->is_sealed) {
		due_ns = find_due_ns(backlog, oldest);
		if (clock_monotonic_ns() < due_ns) {
			wake_reader_at(backlog, due_ns);
			return -EAGAIN;
		}
		seal_segment(backlog, oldest);
	}
	*ret_segment = oldest;
	return 0;
}

/* Reads it back from the store. The lock is not held meanwhile; a segment that is taken stays. */
static int load(struct backlog *backlog, struct segment *segment)
{
	_cleanup_free_ uint8_t *bytes = malloc(segment->size_bytes);
	int r;

	if (!bytes)
		return -ENOMEM;
	(void)pthread_mutex_unlock(&backlog->lock);
	r = backlog->store->type->read(backlog->store, segment, bytes);
	if (r < 0)
		log_warning("cannot read %" PRIu32 " records back from %s: %s; they are lost",
			    segment->entries, backlog->store->name, strerror(-r));
	(void)pthread_mutex_lock(&backlog->lock);
	if (r < 0)
		return r;
	segment_queue_load(&backlog->queue, segment, TAKE_PTR(bytes));
	return 0;
}

/* It goes where somebody may look at it. Counted and said once, however often it is taken. The lock
 * is not held meanwhile. */
static void note_damage(struct backlog *backlog, struct segment *segment, uint32_t found_records,
			size_t lost_bytes)
{
	/* One that was cut off was counted as it was found. */
	uint32_t lost_records =
		segment->entries > found_records ? segment->entries - found_records : 1;

	if (segment->is_damaged)
		return;
	segment->is_damaged = true;
	backlog->queue.totals.damaged_segments++;
	segment_queue_count_lost(&backlog->queue, segment, lost_records, false, "segment damaged");
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

/* Only whole entries go out, whatever the disk gave back. -ENODATA: there are none. */
static int fill_chunk(struct backlog *backlog, struct segment *segment)
{
	struct chunk *chunk = &backlog->chunk;
	struct segment found = { 0 };
	size_t lost_bytes;

	(void)segment_salvage(&found, segment->bytes, segment->size_bytes);
	lost_bytes = segment->size_bytes - found.size_bytes;
	/* What was moved is not to be found once more. */
	memset(segment->bytes + found.size_bytes, 0, lost_bytes);
	chunk_id_write(segment->random, chunk->id);
	chunk->bytes = segment->bytes;
	chunk->size_bytes = found.size_bytes;
	chunk->entries = found.entries;
	if (lost_bytes || found.entries < segment->entries)
		note_damage(backlog, segment, found.entries, lost_bytes);
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
	if (r < 0) {
		segment->is_damaged = true;
		backlog->queue.totals.damaged_segments++;
		segment_queue_count_lost(&backlog->queue, segment, segment->entries, true,
					 "segment unreadable");
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
		/* All others had their turn: another round. */
		if (!segment_queue_find_next(&backlog->queue, segment))
			segment_queue_recall(&backlog->queue);
		segment->is_taken = false;
		segment->is_deferred = true;
		wake_reader(backlog);
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
	backlog->queue.totals.rejected_records++;
	store = is_durable(backlog) ? backlog->store : NULL;
	(void)pthread_mutex_unlock(&backlog->lock);
	if (!store)
		return -EOPNOTSUPP;
	r = store->type->reject(store, entry, entry_bytes);
	return r < 0 ? log_error_errno(r, "cannot set aside a record in %s/rejected", store->name)
		     : 0;
}

static int next(void *user, struct chunk *ret_chunk)
{
	return backlog_next(user, ret_chunk);
}

static void done(void *user)
{
	backlog_done(user);
}

/* What could not be kept is counted there. */
static void reject(void *user, const void *entry, size_t entry_bytes)
{
	(void)backlog_reject(user, entry, entry_bytes);
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

bool backlog_is_empty(struct backlog *backlog)
{
	bool is_empty;

	(void)pthread_mutex_lock(&backlog->lock);
	is_empty = !backlog->queue.segments;
	(void)pthread_mutex_unlock(&backlog->lock);
	return is_empty;
}

void backlog_get_status(struct backlog *backlog, struct backlog_status *ret_status)
{
	(void)pthread_mutex_lock(&backlog->lock);
	segment_queue_get_status(&backlog->queue, ret_status);
	(void)pthread_mutex_unlock(&backlog->lock);
}
