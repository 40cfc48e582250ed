/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/queue/open_backlog.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>

#include <utlist.h>

#include "base/clock.h"
#include "record/check.h"
#include "record/entry_scan.h"
#include "recorder/queue/spool.h"

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
	(void)pthread_cond_init(&backlog->settled, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	backlog->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return backlog->timer_fd < 0 ? -errno : 0;
}

static int load_spool(struct backlog *backlog, const char *path)
{
	int r = spool_open(path, &backlog->store, &backlog->queue.segments);

	if (r < 0)
		return r;
	backlog->queue.totals.damaged_segments = backlog->store->damaged;
	backlog->queue.totals.unusable_files = backlog->store->unusable;
	if (backlog->queue.segments)
		backlog_wake_reader(backlog);
	return segment_queue_adopt(&backlog->queue);
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
	backlog->full_at_bytes = UINT64_MAX;
	r = init_locks(backlog);
	if (r == 0 && backlog->options.spool)
		r = load_spool(backlog, backlog->options.spool);
	backlog->options.spool = NULL;
	if (r == 0)
		r = keeper_start(backlog);
	if (r < 0)
		return r;
	*ret_backlog = TAKE_PTR(backlog);
	return 0;
}

void backlog_free(struct backlog *backlog)
{
	if (!backlog)
		return;
	keeper_stop(backlog);
	segment_queue_deinit(&backlog->queue);
	if (backlog->store)
		backlog->store->type->free(backlog->store);
	cleanup_fd(&backlog->timer_fd);
	(void)pthread_cond_destroy(&backlog->work);
	(void)pthread_cond_destroy(&backlog->settled);
	(void)pthread_mutex_destroy(&backlog->lock);
	free(backlog);
}

/* The oldest segment in memory that the store also has: a deferred one that was read back. NULL if
 * there is none. */
static struct segment *find_unloadable(const struct backlog *backlog)
{
	struct segment *segment;

	DL_FOREACH(backlog->queue.segments, segment)
		if (segment->bytes && segment_may_leave(segment) && segment->is_kept)
			return segment;
	return NULL;
}

/* True if the segment is only in memory, and not in use. */
static bool may_be_dropped(const struct segment *segment)
{
	return segment->bytes && segment_may_leave(segment) && !segment->is_kept;
}

/* Makes room in memory: unloads a segment that the store also has, else waits for the keeper, else
 * drops a segment. False: everything in memory is in use. */
static bool make_room(struct backlog *backlog)
{
	struct segment *segment = find_unloadable(backlog);

	if (segment) {
		segment_queue_unload(&backlog->queue, segment);
		return true;
	}
	if (keeper_await_progress(backlog))
		return true;
	segment = segment_queue_find_victim(&backlog->queue, may_be_dropped);
	if (!segment)
		return false;
	backlog_lose(backlog, segment, "memory queue full");
	backlog_throw_away(backlog, segment);
	return true;
}

/* With several lanes, open segments use at most half of memory: each gets an eighth of what the
 * others leave, so that few lanes have large segments and many lanes still fit. */
static size_t choose_capacity(const struct backlog *backlog, size_t entry_bytes)
{
	const struct segment_queue *queue = &backlog->queue;
	size_t left_bytes = backlog->options.memory_bytes_max / 2;
	size_t capacity_bytes = backlog->options.segment_bytes;

	for (unsigned int lane = 0; lane < SHARES_LANES; lane++)
		if (queue->open[lane])
			left_bytes -= queue->open[lane]->capacity_bytes < left_bytes
					      ? queue->open[lane]->capacity_bytes
					      : left_bytes;
	if (queue->shares.lanes_in_use && capacity_bytes > left_bytes / 8)
		capacity_bytes = left_bytes / 8;
	return capacity_bytes > entry_bytes ? capacity_bytes : entry_bytes;
}

/* Opens a segment with room for an entry. -ENOBUFS: memory is full, and all of it is in use. */
static int open_segment(struct backlog *backlog, unsigned int lane, size_t entry_bytes)
{
	size_t capacity_bytes = choose_capacity(backlog, entry_bytes);
	struct segment *segment;
	int r;

	while (backlog->queue.memory_bytes + capacity_bytes > backlog->options.memory_bytes_max)
		if (!make_room(backlog))
			return -ENOBUFS;
	r = segment_new(capacity_bytes, &segment);
	if (r < 0)
		return r;
	segment->opened_ns = clock_monotonic_ns();
	segment_queue_add(&backlog->queue, segment, lane);
	/* Behind other segments it must not rearm the timer, which is set for those. */
	if (backlog->queue.segments == segment && !backlog_is_durable(backlog))
		backlog_wake_reader_at(backlog, backlog_due_ns(backlog, segment));
	return 0;
}

/* Queued bytes that count as much: reached well before the store is full. */
static uint64_t much_bytes(const struct backlog *backlog)
{
	uint64_t memory_bytes = backlog->options.memory_bytes_max / 2;
	uint64_t store_bytes = backlog_store_limit(backlog) / 8;

	return memory_bytes < store_bytes ? memory_bytes : store_bytes;
}

/* While much is queued, moves a process with more than half of a share to a separate lane, so that
 * its records can be dropped, now or later, without those of others. Moves it back once the queue
 * is short again. */
static void choose_lane(struct backlog *backlog, struct share *share)
{
	struct shares *shares = &backlog->queue.shares;

	if (share->lane) {
		if (shares->queued_bytes < much_bytes(backlog) / 2)
			shares_join(shares, share);
	} else if (shares->queued_bytes > much_bytes(backlog) && shares->count > 1 &&
		   2 * share->queued_bytes * shares->count > shares->queued_bytes) {
		shares_part(shares, share);
	}
}

/* Returns the lane for an entry of process pid. The records of a process stay in order: if a
 * younger segment has records of it, seals the lane's open segment. */
static unsigned int find_lane(struct backlog *backlog, uint32_t pid)
{
	struct share *share = shares_find(&backlog->queue.shares, pid);
	struct segment *open;

	if (!share || !share->queued_bytes)
		return 0;
	choose_lane(backlog, share);
	open = backlog->queue.open[share->lane];
	if (open && open->order < share->segment_order)
		backlog_seal_segment(backlog, open);
	return share->lane;
}

static int put_in_new(struct backlog *backlog, unsigned int lane, uint32_t pid,
		      const uint8_t *entry, size_t entry_bytes)
{
	int r = open_segment(backlog, lane, entry_bytes);
	struct segment *open = backlog->queue.open[lane];

	if (r < 0)
		return r;
	r = segment_queue_put(&backlog->queue, open, pid, entry, entry_bytes);
	if (r < 0) {
		/* A queued segment is never empty. */
		segment_queue_remove(&backlog->queue, open);
		segment_free(open);
	}
	return r;
}

static int append_entry(struct backlog *backlog, const uint8_t *entry, size_t entry_bytes)
{
	uint32_t pid = entry_pid(entry, entry_bytes);
	unsigned int lane = find_lane(backlog, pid);
	struct segment *open = backlog->queue.open[lane];
	int r = -ENOBUFS;

	if (open)
		r = segment_queue_put(&backlog->queue, open, pid, entry, entry_bytes);
	if (open && r == -ENOBUFS)
		backlog_seal_segment(backlog, open);
	if (r == -ENOBUFS)
		r = put_in_new(backlog, lane, pid, entry, entry_bytes);
	if (r != -ENOBUFS && r != -ENOMEM)
		return r;
	segment_queue_lose_entry(&backlog->queue, pid, entry,
				 r == -ENOMEM ? "no memory" : "memory queue full");
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
		if (!check_is(bytes + at, entry_bytes))
			r = append_entry(backlog, bytes + at, entry_bytes);
	}
	if (backlog_is_durable(backlog))
		backlog_wake_keeper(backlog);
	(void)pthread_mutex_unlock(&backlog->lock);
	return r == -EAGAIN ? -EBADMSG : r;
}

void backlog_seal(struct backlog *backlog)
{
	(void)pthread_mutex_lock(&backlog->lock);
	for (unsigned int lane = 0; lane < SHARES_LANES; lane++)
		if (backlog->queue.open[lane])
			backlog_seal_segment(backlog, backlog->queue.open[lane]);
	(void)pthread_mutex_unlock(&backlog->lock);
}

/* tries: backlog->tries when backlog_settle() was called. */
static bool is_settled(const struct backlog *backlog, uint64_t tries)
{
	const struct segment *segment;

	if (!backlog_is_durable(backlog) || (backlog->is_failing && backlog->tries > tries))
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
	backlog->settling++;
	backlog_wake_keeper(backlog);
	while (!is_settled(backlog, tries))
		(void)pthread_cond_wait(&backlog->settled, &backlog->lock);
	backlog->settling--;
	(void)pthread_mutex_unlock(&backlog->lock);
}

bool backlog_take_gap(struct backlog *backlog, struct gap *ret_gap)
{
	bool is_there;

	(void)pthread_mutex_lock(&backlog->lock);
	is_there = shares_take_gap(&backlog->queue.shares, ret_gap);
	if (is_there)
		ret_gap->total_dropped_records = backlog->queue.totals.dropped_records;
	(void)pthread_mutex_unlock(&backlog->lock);
	return is_there;
}

bool backlog_is_stuck(struct backlog *backlog)
{
	const unsigned int rounds_max = 3;
	struct segment *segment;
	bool is_stuck;

	(void)pthread_mutex_lock(&backlog->lock);
	is_stuck = backlog->unread_rounds >= rounds_max;
	DL_FOREACH(backlog->queue.segments, segment)
		is_stuck = is_stuck && segment->is_unread;
	(void)pthread_mutex_unlock(&backlog->lock);
	return is_stuck;
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
