#include "queue/backlog.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include <utlist.h>

#include "base/clock.h"
#include "queue/backlog_internal.h"
#include "queue/spool.h"
#include "record/entry_scan.h"

static void set_defaults(struct backlog_options *options)
{
	if (!options->segment_bytes)
		options->segment_bytes = BACKLOG_SEGMENT_BYTES;
	if (!options->memory_bytes_max)
		options->memory_bytes_max = BACKLOG_MEMORY_BYTES;
	if (!options->seal_ns)
		options->seal_ns = BACKLOG_SEAL_MS * UINT64_C(1000000);
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
	int r = spool_open(path, &backlog->store);

	if (!r)
		r = spool_load(backlog->store, &backlog->segments);
	DL_FOREACH(backlog->segments, segment)
		backlog->store_bytes += segment->written_bytes;
	if (backlog->segments)
		backlog_wake_reader(backlog);
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
	if (!r && backlog->options.spool)
		r = load_spool(backlog, backlog->options.spool);
	backlog->options.spool = NULL;
	if (!r)
		r = backlog_keeper_start(backlog);
	if (!r)
		*ret_backlog = TAKE_PTR(backlog);
	return r;
}

void backlog_free(struct backlog *backlog)
{
	struct segment *segment, *next;

	if (!backlog)
		return;
	backlog_keeper_stop(backlog);
	DL_FOREACH_SAFE(backlog->segments, segment, next)
		segment_free(segment);
	if (backlog->store)
		backlog->store->type->free(backlog->store);
	if (backlog->timer_fd >= 0)
		(void)close(backlog->timer_fd);
	(void)pthread_cond_destroy(&backlog->work);
	(void)pthread_cond_destroy(&backlog->settled);
	(void)pthread_mutex_destroy(&backlog->lock);
	free(backlog);
}

void backlog_wake_reader_at(struct backlog *backlog, uint64_t due_ns)
{
	struct itimerspec due = { .it_value = clock_timespec(due_ns) };

	(void)timerfd_settime(backlog->timer_fd, TFD_TIMER_ABSTIME, &due, NULL);
}

void backlog_wake_reader(struct backlog *backlog)
{
	/* Long past; 0 would disarm it. */
	backlog_wake_reader_at(backlog, 1);
}

static void wake_keeper(struct backlog *backlog)
{
	(void)pthread_cond_signal(&backlog->work);
}

bool backlog_is_durable(const struct backlog *backlog)
{
	return backlog->store && backlog->store->type->is_durable;
}

struct segment *backlog_find_open(const struct backlog *backlog)
{
	struct segment *newest = backlog->segments ? backlog->segments->prev : NULL;

	return newest && !newest->is_sealed ? newest : NULL;
}

uint64_t backlog_due_ns(const struct backlog *backlog, const struct segment *open)
{
	/* While others wait before it there is no haste: fewer, larger files. */
	const uint64_t patience = 5;

	return open->opened_ns +
	       backlog->options.seal_ns * (open == backlog->segments ? 1 : patience);
}

void backlog_seal_segment(struct backlog *backlog, struct segment *segment)
{
	if (segment->is_busy) {
		segment->is_sealed = true;
	} else {
		backlog->memory_bytes -= segment->capacity_bytes;
		segment_seal(segment);
		backlog->memory_bytes += segment->capacity_bytes;
	}
	wake_keeper(backlog);
	if (!backlog_is_durable(backlog))
		backlog_wake_reader(backlog);
}

void backlog_count_gap(struct backlog *backlog, uint64_t records, uint64_t segments,
		       uint64_t first_ns, uint64_t last_ns, const char *reason)
{
	struct backlog_gap *gap = &backlog->gap;

	backlog->totals.dropped_records += records;
	backlog->totals.dropped_segments += segments;
	if (!gap->dropped_records || first_ns < gap->first_ns)
		gap->first_ns = first_ns;
	if (last_ns > gap->last_ns)
		gap->last_ns = last_ns;
	gap->dropped_records += records;
	gap->dropped_segments += segments;
	gap->reason = reason;
}

/* Takes it off the queue; its memory no longer counts. */
static void detach(struct backlog *backlog, struct segment *segment)
{
	DL_DELETE(backlog->segments, segment);
	backlog->memory_bytes -= segment->capacity_bytes;
	segment->capacity_bytes = 0;
}

void backlog_drop(struct backlog *backlog, struct segment *segment, const char *reason)
{
	backlog_count_gap(backlog, segment->entries, 1, segment->first_ns, segment->last_ns,
			  reason);
	detach(backlog, segment);
}

/* What has a file, or is in the keeper's hands, is the keeper's to throw away. */
static void throw_away(struct backlog *backlog, struct segment *segment)
{
	if (!segment->is_busy && !segment->written_bytes) {
		segment_free(segment);
		return;
	}
	if (!segment->is_busy) {
		free(segment->bytes);
		segment->bytes = NULL;
	}
	DL_APPEND(backlog->trash, segment);
	wake_keeper(backlog);
}

void backlog_release(struct backlog *backlog, struct segment *segment)
{
	detach(backlog, segment);
	throw_away(backlog, segment);
	if (backlog->segments)
		backlog_wake_reader(backlog);
}

/* Makes room in memory. False: all that is there is in use. */
static bool drop_oldest(struct backlog *backlog)
{
	struct segment *segment;

	DL_FOREACH(backlog->segments, segment)
		if (segment->bytes && !segment->is_taken && !segment->is_busy)
			break;
	if (!segment)
		return false;
	/* A deferred one that was read back: it is in the store still. */
	if (segment->is_kept) {
		backlog->memory_bytes -= segment->capacity_bytes;
		segment->capacity_bytes = 0;
		free(segment->bytes);
		segment->bytes = NULL;
		return true;
	}
	backlog_drop(backlog, segment, "memory queue full");
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
	while (backlog->memory_bytes + capacity_bytes > backlog->options.memory_bytes_max)
		if (!drop_oldest(backlog))
			return -ENOBUFS;
	r = segment_new(capacity_bytes, &segment);
	if (r < 0)
		return r;
	segment->opened_ns = clock_monotonic_ns();
	backlog->memory_bytes += capacity_bytes;
	DL_APPEND(backlog->segments, segment);
	/* Behind another one it must not put off what the fd has to say of that. */
	if (backlog->segments == segment && !backlog_is_durable(backlog))
		backlog_wake_reader_at(backlog, backlog_due_ns(backlog, segment));
	*ret_segment = segment;
	return 0;
}

static int append_entry(struct backlog *backlog, const uint8_t *entry, size_t entry_bytes)
{
	struct segment *open = backlog_find_open(backlog);
	uint64_t time_ns;
	int r;

	if (open && segment_put(open, entry, entry_bytes))
		return 0;
	if (open)
		backlog_seal_segment(backlog, open);
	r = open_segment(backlog, entry_bytes, &open);
	if (r == -ENOBUFS) {
		time_ns = entry_time_ns(entry);
		backlog_count_gap(backlog, 1, 0, time_ns, time_ns, "memory queue full");
		return 0;
	}
	if (!r)
		(void)segment_put(open, entry, entry_bytes);
	return r;
}

int backlog_append(struct backlog *backlog, const void *entries, size_t size_bytes)
{
	const uint8_t *bytes = entries;
	size_t entry_bytes;
	int r = 0;

	(void)pthread_mutex_lock(&backlog->lock);
	for (size_t at = 0; !r && at < size_bytes; at += entry_bytes) {
		r = entry_scan(bytes + at, size_bytes - at, &entry_bytes);
		if (r < 0)
			break;
		r = append_entry(backlog, bytes + at, entry_bytes);
	}
	if (backlog_is_durable(backlog))
		wake_keeper(backlog);
	(void)pthread_mutex_unlock(&backlog->lock);
	return r == -EAGAIN ? -EBADMSG : r;
}

void backlog_seal(struct backlog *backlog)
{
	struct segment *open;

	(void)pthread_mutex_lock(&backlog->lock);
	open = backlog_find_open(backlog);
	if (open)
		backlog_seal_segment(backlog, open);
	(void)pthread_mutex_unlock(&backlog->lock);
}

bool backlog_take_gap(struct backlog *backlog, struct backlog_gap *ret_gap)
{
	(void)pthread_mutex_lock(&backlog->lock);
	*ret_gap = backlog->gap;
	backlog->gap = (struct backlog_gap){ 0 };
	(void)pthread_mutex_unlock(&backlog->lock);
	return ret_gap->dropped_records || ret_gap->dropped_segments;
}

bool backlog_is_empty(struct backlog *backlog)
{
	bool is_empty;

	(void)pthread_mutex_lock(&backlog->lock);
	is_empty = !backlog->segments;
	(void)pthread_mutex_unlock(&backlog->lock);
	return is_empty;
}

void backlog_get_status(struct backlog *backlog, struct backlog_status *ret_status)
{
	const struct segment *segment;

	(void)pthread_mutex_lock(&backlog->lock);
	*ret_status = backlog->totals;
	ret_status->memory_bytes = backlog->memory_bytes;
	ret_status->store_bytes = backlog->store_bytes;
	DL_FOREACH(backlog->segments, segment) {
		ret_status->queued_bytes += segment->size_bytes;
		ret_status->queued_records += segment->entries;
	}
	(void)pthread_mutex_unlock(&backlog->lock);
}
