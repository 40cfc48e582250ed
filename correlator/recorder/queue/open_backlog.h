/* SPDX-License-Identifier: GPL-2.0-only */
/* The internals of a backlog, private to the files of recorder/queue/ that implement it. */
#pragma once

#include "recorder/queue/backlog.h"

#include <pthread.h>

#include "recorder/queue/segment_queue.h"
#include "recorder/queue/store.h"

struct backlog {
	struct backlog_options options; /* the defaults filled in */
	pthread_mutex_t lock; /* guards everything below; nothing slow is done under it */
	int timer_fd; /* expires at once when a chunk is ready, later while one is open */
	struct segment_queue queue;
	struct chunk chunk; /* of the taken segment */
	uint64_t unread_until_ns; /* CLOCK_MONOTONIC: retry time of unread segments; 0 = none */
	unsigned int unread_rounds; /* consecutive rounds in which nothing could be read */
	bool has_said_unread;
	/* State of the keeper, the thread that moves segments from memory to disk: */
	struct store *store; /* NULL = none yet, or none available */
	pthread_t keeper;
	pthread_cond_t work; /* wakes the keeper */
	pthread_cond_t settled; /* wakes threads that wait for the keeper */
	bool has_keeper;
	bool is_ending;
	struct segment *trash; /* off the queue, but with a file, or in use by the keeper */
	bool is_failing; /* the store accepts no more: memory only, for now */
	bool has_said_failing, has_said_unremoved;
	bool is_full; /* the store is failing because the disk is full */
	bool was_pressed; /* at the last try, something had to be replaced */
	uint64_t retry_ns; /* CLOCK_MONOTONIC: next try of a failing store */
	uint64_t tries; /* tries of the keeper so far, successful or not */
	bool is_hanging; /* a try takes too long: appending no longer waits for it */
	unsigned int settling; /* callers waiting in backlog_settle() */
	uint64_t full_ns; /* CLOCK_MONOTONIC: when the disk was last full; 0 = not since the store
			     recovered */
	uint64_t full_at_bytes; /* bytes in the store when others had filled its disk; UINT64_MAX =
				   they have not */
};

/* Everything below is called under the lock, except keeper_start and keeper_stop. Wakes the reader,
 * now or at due_ns, when backlog_next is worth a try: */
void backlog_wake_reader(struct backlog *backlog);
void backlog_wake_reader_at(struct backlog *backlog, uint64_t due_ns);
void backlog_wake_keeper(struct backlog *backlog);

/* True if there is a store that survives our exit. */
bool backlog_is_durable(const struct backlog *backlog);
/* When an open segment is due to be sealed, CLOCK_MONOTONIC: late if sealed segments are ahead of
 * it, early if sealed ones wait behind it. */
uint64_t backlog_due_ns(const struct backlog *backlog, const struct segment *open);
void backlog_seal_segment(struct backlog *backlog, struct segment *segment);
/* Takes a segment off the queue and counts it as lost; the caller throws it away. */
void backlog_lose(struct backlog *backlog, struct segment *segment, const char *reason);
/* Frees a segment that is off the queue; leaves that to the keeper if the segment has a file, or is
 * being written. */
void backlog_throw_away(struct backlog *backlog, struct segment *segment);

/* How many bytes the store may hold: store_bytes_max. While others fill its disk, no more than it
 * held when that began. */
static inline uint64_t backlog_store_limit(const struct backlog *backlog)
{
	return backlog->full_at_bytes < backlog->options.store_bytes_max
		       ? backlog->full_at_bytes
		       : backlog->options.store_bytes_max;
}

/* True if neither the reader nor the keeper is using the segment. */
static inline bool segment_may_leave(const struct segment *segment)
{
	return !segment->is_taken && !segment->is_busy;
}

/* Starts the keeper thread, which moves segments from memory to disk. 0, or -errno. */
int keeper_start(struct backlog *backlog);
/* Waits until the keeper has done something about the segments in memory. False, at once or after a
 * while: it has nothing to do, or its disk fails or hangs. Called under the lock, and releases it
 * while waiting. */
bool keeper_await_progress(struct backlog *backlog);
/* Stops the keeper once it has kept what it can. Does nothing if it was not started. */
void keeper_stop(struct backlog *backlog);
