/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where encoded entries go: a file, a pipe, or standard output, with room for what cannot be
 * written yet: a disk may be full for a while, and the reader of a pipe slow. Nothing here waits
 * for that reader. What finds no room is dropped, the newest first, and counted for a `gap` record.
 * When the disk fills up in the middle of a record, that part is cut off again: a file holds whole
 * entries. A file or pipe has one writer at a time: it is locked (flock(2)), by whatever name it is
 * opened. Says once that writing fails, and once that it is over. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/queue/gap.h"

enum {
	SINK_WAITING_BYTES = 8 * 1024 * 1024 /* room for what waits; for more if it is one write */
};

struct sink;

struct sink_status {
	uint64_t written_records; /* whole, by the kernel */
	uint64_t dropped_records; /* since the start */
	uint64_t failures; /* writes that failed */
	size_t waiting_bytes;
	unsigned int files; /* that it began, with a limit */
	bool is_over; /* the reader of a pipe is gone */
};

struct sink_file {
	const char *path; /* "-" or "/dev/stdout": standard output */
	bool overwrites; /* what is there, if that is not empty */
	uint64_t bytes_max; /* of this and the one that it had before it (below); 0 = no limit.
			     * Entries with one check (record/check.h) are in one file. */
	/* With a limit: what each file but the first begins with, whole entries, the callee's until
	 * the next call; NULL: no memory, it begins without. */
	const void *(*head)(void *user, size_t *ret_size_bytes);
	void *user;
};

/*
 * Opens the file for writing, as output_file_open() does (base/output_file.h), or standard output
 * (stays open after sink_close). A file that is not empty is refused, unless it is to be
 * overwritten: then the first write empties it, and until then nothing of it is lost. Waits for the
 * reader of a named pipe, until a signal comes that the caller has blocked (signals.h).
 *
 * With a limit: before it has more than half of that (unless one write has), it goes on as PATH.1,
 * in the place of the one before, and PATH begins anew, with its head. A file that somebody else
 * moved away is left there. While that fails nothing is written: what comes waits, as for a disk
 * that is full.
 *
 * file->path is copied, head and user are used until the end. 0 and *ret_sink, owned by the caller;
 * -EWOULDBLOCK: another one writes to it; -EEXIST: it is not empty, or with a limit PATH.1 is
 * there; -EINVAL: a limit, and no file; -EPERM: it is not ours alone; -ENOTTY when "-" is a
 * terminal; -EINTR: that signal, not logged; -ENOMEM; -errno of open(2). Logs the others.
 */
int sink_open(const struct sink_file *file, struct sink **ret_sink);

/*
 * Whether sink_open would be refused because of what is at path now, without changing anything: 0
 * or its -errno (logged). To be told before the work that leads to sink_open.
 */
int sink_check(const struct sink_file *file);

/* Takes whole entries, as many records as that; writes as much as can be written now, those that
 * wait first. */
void sink_write(struct sink *sink, const void *entries, size_t size_bytes, size_t records);
/* Writes what can be written now of what waits. */
void sink_flush(struct sink *sink);
/* What to wait for before sink_flush is worth a try: that this fd is writable; -1 = no fd. */
int sink_fd(const struct sink *sink);
/* Or this time (CLOCK_MONOTONIC): a failed write is tried again; UINT64_MAX = none. */
uint64_t sink_due_ns(const struct sink *sink);

/* True if something was dropped since the last call, and there is ample room again. */
bool sink_take_gap(struct sink *sink, struct gap *ret_gap);
void sink_get_status(const struct sink *sink, struct sink_status *ret_status);

/*
 * Tries to write what still waits, closes and frees; ret_status (NULL = not wanted): how it ended.
 * 0; -EPIPE: the reader was gone, not logged;
 * -EIO, logged: something was dropped, now or before; or the -errno of close(2), logged (a full
 * network disk may say so only here). NULL is 0.
 */
int sink_close(struct sink *sink, struct sink_status *ret_status);
