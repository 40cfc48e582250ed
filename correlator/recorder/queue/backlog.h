/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What waits to be sent: a queue of chunks, filled by the thread that measures and emptied by the
 * one that sends. It stands between them, so that measuring never waits for the network: appending
 * copies. What does not stay in memory is written by a thread of its own, and only when memory is
 * full does appending wait for that, as long as the disk takes it. It is bounded: when it is full
 * chunks that are not being sent are dropped, and counted for `gap` records: the oldest of
 * processes that wait with more than their share of all that waits. A process that makes less loses
 * nothing.
 *
 * With a spool, each chunk is kept in the directory before it is sent, and survives a crash.
 * Without, it is in memory, and goes to a file without a name when memory is half full: an outage
 * of the collector costs no data, and our end leaves nothing behind.
 *
 * Thread rule: one writer (append, seal, take_gap) and one reader (next, done, defer, reject) at a
 * time; the rest from any thread. Only that third thread, next and reject log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/queue/chunk.h"
#include "recorder/queue/gap.h"

enum {
	/* Fast with each receiver, far below their limits; 512 KiB with the checks on disk. */
	BACKLOG_SEGMENT_BYTES = 508 * 1024,
	BACKLOG_MEMORY_BYTES = 8 * 1024 * 1024,
	BACKLOG_SEAL_MS = 1000,
	BACKLOG_STORE_BYTES = 256 * 1024 * 1024,
	BACKLOG_PATIENCE_MS = 2000, /* with a disk that hangs while memory is full */
};

struct backlog;

struct backlog_options {
	size_t segment_bytes; /* a chunk is sealed before it grows above this; 0 = default */
	size_t memory_bytes_max; /* 0 = default */
	uint64_t seal_ns; /* a chunk is sealed when its first entry is this old; 0 = default */
	const char *spool; /* directory; NULL = none. Borrowed for the call of backlog_new */
	uint64_t store_bytes_max; /* of the spool, or the file without a name; 0 = default */
};

struct backlog_status {
	uint64_t queued_bytes; /* waiting, wherever they are */
	uint64_t queued_records;
	uint64_t kept_records; /* of them, whole on disk; of a spool, they outlive us */
	uint64_t memory_bytes; /* in use of memory_bytes_max */
	uint64_t store_bytes; /* on disk */
	uint64_t dropped_records; /* since the start */
	uint64_t dropped_segments;
	uint64_t rejected_records; /* those that are lost are among the dropped, too */
	uint64_t damaged_segments; /* read back with something missing: that is among the dropped */
	uint64_t unusable_files; /* in the spool, which could not be read when it was opened */
};

/*
 * options: copied; NULL = defaults. What an earlier process left in the spool comes first, with the
 * same ids. 0, or -errno (spool_open; logged).
 */
int backlog_new(const struct backlog_options *options, struct backlog **ret_backlog);
/* With a spool, first keeps there all that is in memory, as far as the disk lets it, and drops
 * nothing for it. Without, what still waits is lost. */
void backlog_free(struct backlog *backlog);
DEFINE_CLEANUP(struct backlog *, backlog_free);

/*
 * Appends whole entries, as an encoder has them; checks are left out. Never waits for sending; for
 * a disk only when memory is full, and for one that hangs not more than BACKLOG_PATIENCE_MS. 0,
 * also if they had to be dropped; -EBADMSG, -E2BIG or -ELOOP (entry_scan.h): not entries. What
 * comes before the failure has been appended.
 */
int backlog_append(struct backlog *backlog, const void *entries, size_t size_bytes);
/* Makes what was appended so far a chunk at once, however young: before the end. */
void backlog_seal(struct backlog *backlog);
/* Waits until all that was sealed is where it survives, or cannot be (a disk that failed before is
 * tried once more); for a disk, not for a collector, and only with a spool. For the end: then what
 * was kept, and what had to be dropped, is known. */
void backlog_settle(struct backlog *backlog);
/* Takes the losses of one process that were not told yet. False: there are no more. */
bool backlog_take_gap(struct backlog *backlog, struct gap *ret_gap);

/* The four below as the sender's source of chunks, and an event fd, which is readable when
 * backlog_next is worth a try. backlog is borrowed for the sender's life. */
struct chunk_source backlog_source(struct backlog *backlog);
/*
 * The oldest chunk: the same one until it is done or deferred. 0; -EAGAIN: none yet (the event fd
 * becomes readable); -ENOMEM. What cannot be read back from the store, for lack of descriptors or
 * because the disk fails, waits behind the others, and is tried again each second.
 */
int backlog_next(struct backlog *backlog, struct chunk *ret_chunk);
/* Acked: the chunk of the last backlog_next is released. */
void backlog_done(struct backlog *backlog);
/* The others go first, until one of them is done: 0; -ENOENT: there are none. */
int backlog_defer(struct backlog *backlog);
/* One entry of that chunk, which no receiver takes: set aside in the spool's folder rejected/, or
 * else lost, and counted as dropped. 0; -EOPNOTSUPP: there is no spool; or -errno (logged). The
 * chunk stays until backlog_done. */
int backlog_reject(struct backlog *backlog, const void *entry, size_t entry_bytes);

/* All that waits could not be read, for some seconds: who has to end ends. */
bool backlog_is_stuck(struct backlog *backlog);

/* True when nothing waits, in memory or on disk. */
bool backlog_is_empty(struct backlog *backlog);
void backlog_get_status(struct backlog *backlog, struct backlog_status *ret_status);
