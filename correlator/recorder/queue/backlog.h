/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue of chunks to send, filled by the measuring thread and emptied by the sending thread, so
 * that measuring never waits for the network: appending copies. A third thread, the keeper, writes
 * to disk what does not stay in memory. Appending waits for it only when memory is full, and only
 * as long as the disk accepts data. The queue is bounded: when it is full, chunks that are not
 * being sent are dropped and counted for `gap` records: the oldest ones of processes that have more
 * than their share of everything queued. A process that produces less loses nothing.
 *
 * With a spool, each chunk is kept in the directory before it is sent, and survives a crash.
 * Without one, chunks are in memory and go to an unnamed file when memory is half full: a collector
 * outage costs no data, and our exit leaves nothing behind.
 *
 * Thread rule: one writer (append, seal, take_gap) and one reader (next, done, defer, reject) at a
 * time; the rest from any thread. Only the keeper, next and reject log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/queue/chunk.h"
#include "recorder/queue/gap.h"

enum {
	/* Fast with every receiver and far below their limits; 512 KiB on disk with the checks. */
	BACKLOG_SEGMENT_BYTES = 508 * 1024,
	BACKLOG_MEMORY_BYTES = 8 * 1024 * 1024,
	BACKLOG_SEAL_MS = 1000,
	BACKLOG_STORE_BYTES = 256 * 1024 * 1024,
	BACKLOG_PATIENCE_MS = 2000, /* longest wait for a hanging disk while memory is full */
};

struct backlog;

struct backlog_options {
	size_t segment_bytes; /* a chunk is sealed before it grows above this; 0 = default */
	size_t memory_bytes_max; /* 0 = default */
	uint64_t seal_ns; /* a chunk is sealed when its first entry is this old; 0 = default */
	const char *spool; /* directory; NULL = none. Borrowed during backlog_new() */
	uint64_t store_bytes_max; /* limit of the spool or the unnamed file; 0 = default */
};

struct backlog_status {
	uint64_t queued_bytes; /* in memory or in the store */
	uint64_t queued_records;
	uint64_t kept_records; /* of queued_records, complete on disk; in a spool they survive our
				  exit */
	uint64_t memory_bytes; /* used, of memory_bytes_max */
	uint64_t store_bytes; /* on disk */
	uint64_t dropped_records; /* since the start */
	uint64_t dropped_segments;
	uint64_t rejected_records; /* those not set aside count as dropped, too */
	uint64_t damaged_segments; /* read back incomplete; known losses count as dropped */
	uint64_t unusable_files; /* files that could not be read when the spool was opened */
};

/*
 * options: copied; NULL = defaults. Segments that an earlier process left in the spool come first,
 * with the same ids. 0, or -errno (spool_open; logged).
 */
int backlog_new(const struct backlog_options *options, struct backlog **ret_backlog);
/* With a spool, first writes everything in memory to it, as far as the disk allows, and drops
 * nothing to make room. Without one, everything still queued is lost. */
void backlog_free(struct backlog *backlog);
DEFINE_CLEANUP(struct backlog *, backlog_free);

/*
 * Appends whole entries as encoded; skips checks. Never waits for sending. Waits for a disk only
 * when memory is full, and for one that hangs at most BACKLOG_PATIENCE_MS. 0, also if entries had
 * to be dropped; -EBADMSG, -E2BIG or -ELOOP (entry_scan.h): not entries. Entries before the failure
 * have been appended.
 */
int backlog_append(struct backlog *backlog, const void *entries, size_t size_bytes);
/* Seals everything appended so far into chunks at once, however young: before the end. */
void backlog_seal(struct backlog *backlog);
/* Waits until every sealed segment is kept durably, or cannot be (a disk that failed before is
 * tried once more). Waits for a disk, not for a collector, and only with a spool. For use before
 * the end: afterwards the kept and the dropped records are known. */
void backlog_settle(struct backlog *backlog);
/* Takes the unreported losses of one process, with the total of that instant: the keeper may drop
 * more before the next call. False: there are no more. */
bool backlog_take_gap(struct backlog *backlog, struct gap *ret_gap);

/* The sender's source of chunks, made of the four functions below and an event fd, which is
 * readable when backlog_next is worth a try. backlog is borrowed for the sender's life. */
struct chunk_source backlog_source(struct backlog *backlog);
/*
 * Returns the oldest chunk: the same one until it is done or deferred. 0; -EAGAIN: none yet (the
 * event fd becomes readable); -ENOMEM. A segment that cannot be read back from the store, for lack
 * of descriptors or because the disk fails, goes behind the others and is retried every second.
 */
int backlog_next(struct backlog *backlog, struct chunk *ret_chunk);
/* Releases the chunk of the last backlog_next, which was acked. */
void backlog_done(struct backlog *backlog);
/* Puts the chunk behind the others until one of them is done. 0; -ENOENT: there are no others. */
int backlog_defer(struct backlog *backlog);
/* Rejects one entry of that chunk, which no receiver accepts: sets it aside in the spool's folder
 * rejected/, or else drops and counts it. 0; -EOPNOTSUPP: there is no spool; or -errno (logged).
 * The chunk stays until backlog_done. */
int backlog_reject(struct backlog *backlog, const void *entry, size_t entry_bytes);

/* True if none of the queued segments could be read for some seconds: a caller that has to end need
 * not wait for them. */
bool backlog_is_stuck(struct backlog *backlog);

/* True when nothing waits, in memory or on disk. */
bool backlog_is_empty(struct backlog *backlog);
void backlog_get_status(struct backlog *backlog, struct backlog_status *ret_status);
