#include "output/backlog.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include <utlist.h>

#include "base/duration.h"
#include "base/entry_scan.h"
#include "output/segment.h"

struct backlog {
	struct backlog_options options;
	pthread_mutex_t lock; /* guards all below; nothing slow is done under it */
	int timer_fd; /* due at once when a chunk is sealed, later while one is open */
	struct segment *segments; /* oldest first; only the newest may be open */
	size_t memory_bytes; /* capacity of all that is in memory */
	struct backlog_status totals;
	struct backlog_gap gap;
};

static const char reason_memory_full[] = "memory queue full";

int backlog_new(const struct backlog_options *options, struct backlog **ret_backlog)
{
	_cleanup_(backlog_freep) struct backlog *backlog = calloc(1, sizeof(*backlog));

	if (!backlog)
		return -ENOMEM;
	if (options)
		backlog->options = *options;
	if (!backlog->options.segment_bytes)
		backlog->options.segment_bytes = BACKLOG_SEGMENT_BYTES;
	if (!backlog->options.memory_bytes_max)
		backlog->options.memory_bytes_max = BACKLOG_MEMORY_BYTES;
	if (!backlog->options.seal_ns)
		backlog->options.seal_ns = BACKLOG_SEAL_MS * UINT64_C(1000000);
	(void)pthread_mutex_init(&backlog->lock, NULL);
	backlog->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (backlog->timer_fd < 0)
		return -errno;
	*ret_backlog = TAKE_PTR(backlog);
	return 0;
}

void backlog_free(struct backlog *backlog)
{
	struct segment *segment, *next;

	if (!backlog)
		return;
	DL_FOREACH_SAFE(backlog->segments, segment, next)
		segment_free(segment);
	if (backlog->timer_fd >= 0)
		(void)close(backlog->timer_fd);
	(void)pthread_mutex_destroy(&backlog->lock);
	free(backlog);
}

static void arm(struct backlog *backlog, uint64_t due_ns)
{
	const uint64_t ns_per_second = 1000000000;
	/* All zeros would disarm it: 1 ns has long been. */
	struct itimerspec due = { .it_value = { .tv_sec = (time_t)(due_ns / ns_per_second),
						.tv_nsec = (long)(due_ns % ns_per_second) +
							   !due_ns } };

	(void)timerfd_settime(backlog->timer_fd, TFD_TIMER_ABSTIME, &due, NULL);
}

static struct segment *find_open(const struct backlog *backlog)
{
	struct segment *newest = backlog->segments ? backlog->segments->prev : NULL;

	return newest && !newest->is_sealed ? newest : NULL;
}

static void seal(struct backlog *backlog, struct segment *segment)
{
	backlog->memory_bytes -= segment->capacity_bytes;
	segment_seal(segment);
	backlog->memory_bytes += segment->capacity_bytes;
	arm(backlog, 0);
}

static void count_gap(struct backlog *backlog, uint64_t records, uint64_t segments,
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

static void remove_segment(struct backlog *backlog, struct segment *segment)
{
	DL_DELETE(backlog->segments, segment);
	backlog->memory_bytes -= segment->capacity_bytes;
	segment_free(segment);
}

/* False: all that is there is in use. */
static bool drop_oldest(struct backlog *backlog)
{
	struct segment *segment = backlog->segments;

	if (segment && segment->is_taken)
		segment = segment->next;
	if (!segment)
		return false;
	count_gap(backlog, segment->entries, 1, segment->first_ns, segment->last_ns,
		  reason_memory_full);
	remove_segment(backlog, segment);
	return true;
}

/* A new open segment with room for an entry; NULL: it has to be dropped, and was counted. */
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
	segment->opened_ns = duration_monotonic_ns();
	backlog->memory_bytes += capacity_bytes;
	DL_APPEND(backlog->segments, segment);
	/* Behind another one it must not put off what the fd has to say of that. */
	if (backlog->segments == segment)
		arm(backlog, segment->opened_ns + backlog->options.seal_ns);
	*ret_segment = segment;
	return 0;
}

static int append_entry(struct backlog *backlog, const uint8_t *entry, size_t entry_bytes)
{
	struct segment *open = find_open(backlog);
	uint64_t time_ns;
	int r;

	if (open && segment_put(open, entry, entry_bytes))
		return 0;
	if (open)
		seal(backlog, open);
	r = open_segment(backlog, entry_bytes, &open);
	if (r == -ENOBUFS) {
		time_ns = entry_time_ns(entry);
		count_gap(backlog, 1, 0, time_ns, time_ns, reason_memory_full);
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
		if (r < 0) {
			r = r == -EAGAIN ? -EBADMSG : r;
			break;
		}
		r = append_entry(backlog, bytes + at, entry_bytes);
	}
	(void)pthread_mutex_unlock(&backlog->lock);
	return r;
}

void backlog_seal(struct backlog *backlog)
{
	struct segment *open;

	(void)pthread_mutex_lock(&backlog->lock);
	open = find_open(backlog);
	if (open)
		seal(backlog, open);
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

int backlog_event_fd(const struct backlog *backlog)
{
	return backlog->timer_fd;
}

static int find_next(struct backlog *backlog, struct segment **ret_segment)
{
	struct segment *oldest = backlog->segments;
	uint64_t expirations, due_ns;

	if (read(backlog->timer_fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
		return -errno;
	if (!oldest)
		return -EAGAIN;
	if (!oldest->is_sealed) {
		due_ns = oldest->opened_ns + backlog->options.seal_ns;
		if (duration_monotonic_ns() < due_ns) {
			arm(backlog, due_ns);
			return -EAGAIN;
		}
		seal(backlog, oldest);
	}
	*ret_segment = oldest;
	return 0;
}

int backlog_next(struct backlog *backlog, struct chunk *ret_chunk)
{
	struct segment *segment = NULL;
	int r;

	(void)pthread_mutex_lock(&backlog->lock);
	r = find_next(backlog, &segment);
	if (!r) {
		segment->is_taken = true;
		memcpy(ret_chunk->id, segment->id, sizeof(ret_chunk->id));
		ret_chunk->bytes = segment->bytes;
		ret_chunk->size_bytes = segment->size_bytes;
		ret_chunk->entries = segment->entries;
	}
	(void)pthread_mutex_unlock(&backlog->lock);
	return r;
}

void backlog_done(struct backlog *backlog)
{
	(void)pthread_mutex_lock(&backlog->lock);
	if (backlog->segments && backlog->segments->is_taken)
		remove_segment(backlog, backlog->segments);
	if (backlog->segments)
		arm(backlog, 0);
	(void)pthread_mutex_unlock(&backlog->lock);
}

int backlog_reject(struct backlog *backlog, const void *entry, size_t entry_bytes)
{
	(void)entry;
	(void)entry_bytes;
	(void)pthread_mutex_lock(&backlog->lock);
	backlog->totals.rejected_records++;
	(void)pthread_mutex_unlock(&backlog->lock);
	return 0;
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
	DL_FOREACH(backlog->segments, segment) {
		ret_status->queued_bytes += segment->size_bytes;
		ret_status->queued_records += segment->entries;
	}
	(void)pthread_mutex_unlock(&backlog->lock);
}
