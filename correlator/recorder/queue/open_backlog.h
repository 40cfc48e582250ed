/* SPDX-License-Identifier: GPL-2.0-only */
/* A backlog from the inside, for the files of recorder/queue/ that carry out its parts; for nobody
 * else. */
#pragma once

#include "recorder/queue/backlog.h"

#include <pthread.h>

#include "recorder/queue/segment_queue.h"
#include "recorder/queue/store.h"

struct backlog {
	struct backlog_options options; /* the defaults filled in */
	pthread_mutex_t lock; /* guards all below; nothing slow is done under it */
	int timer_fd; /* due at once when a chunk is ready, later while one is open */
	struct segment_queue queue;
	struct chunk chunk; /* of the segment that is taken */
	uint64_t unread_until_ns; /* CLOCK_MONOTONIC: what could not be read waits; 0 = nothing does
				   */
	unsigned int unread_rounds; /* in which nothing could be read, in a row */
	bool has_said_unread;
	/* The keeper's, the thread that takes segments from memory to disk: */
	struct store *store; /* NULL = none yet, or none to be had */
	pthread_t keeper;
	pthread_cond_t work; /* for the keeper */
	pthread_cond_t settled; /* for who waits for the keeper */
	bool has_keeper;
	bool is_ending;
	struct segment *trash; /* off the queue; with a file, or still in the keeper's hands */
	bool is_failing; /* the store takes nothing more: memory alone, for now */
	bool has_said_failing, has_said_unremoved;
	bool is_full; /* that is why it is failing */
	bool was_pressed; /* when it was last tried, something had to be replaced */
	uint64_t retry_ns; /* CLOCK_MONOTONIC: when it is worth another try */
	uint64_t tries; /* of segments, so far */
	bool is_hanging; /* a try has lasted for too long: nobody waits for it any more */
	unsigned int settling; /* callers of backlog_settle that wait */
	uint64_t full_ns; /* CLOCK_MONOTONIC: when the disk was last full; 0 = not since it was well
			   */
	uint64_t full_at_bytes; /* in the store when others had filled its disk; UINT64_MAX = not so
				 */
};

/* All below, but for the keeper's two, under the lock. When backlog_next is worth a try again: */
void backlog_wake_reader(struct backlog *backlog);
void backlog_wake_reader_at(struct backlog *backlog, uint64_t due_ns);
void backlog_wake_keeper(struct backlog *backlog);

/* There is a store, and it outlives us. */
bool backlog_is_durable(const struct backlog *backlog);
/* When an open segment is to be sealed, CLOCK_MONOTONIC: not soon while others wait before it, and
 * soon if it is what others wait for. */
uint64_t backlog_due_ns(const struct backlog *backlog, const struct segment *open);
void backlog_seal_segment(struct backlog *backlog, struct segment *segment);
/* Takes it off the queue, counted as lost: the caller throws it away. */
void backlog_lose(struct backlog *backlog, struct segment *segment, const char *reason);
/* The keeper throws away a segment that has a file, or that it is working on. */
void backlog_throw_away(struct backlog *backlog, struct segment *segment);

/* How many bytes the store may hold: store_bytes_max. While others fill its disk it holds no more
 * than it did when they began. */
static inline uint64_t backlog_store_limit(const struct backlog *backlog)
{
	return backlog->full_at_bytes < backlog->options.store_bytes_max
		       ? backlog->full_at_bytes
		       : backlog->options.store_bytes_max;
}

/* Neither the reader nor the keeper has it. */
static inline bool segment_may_leave(const struct segment *segment)
{
	return !segment->is_taken && !segment->is_busy;
}

/* The thread that takes segments from memory to disk: 0, or -errno. */
int keeper_start(struct backlog *backlog);
/* Waits until the keeper has done something about what is in memory. False, at once or after a
 * while: there is nothing it can do, its disk fails, or hangs. Under the lock, but not while it
 * waits. */
bool keeper_await_progress(struct backlog *backlog);
/* Once it has kept what it can. Nothing if it was not started. */
void keeper_stop(struct backlog *backlog);
