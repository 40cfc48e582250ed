/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The output for encoded entries: a file, a pipe, or standard output, with a buffer for entries
 * that cannot be written yet: a disk may be full for a while, and the reader of a pipe slow.
 * Writing never waits for that reader. Entries that do not fit in the buffer, the newest, are
 * dropped and counted for a `gap` record. When the disk fills up in the middle of a record, the
 * partial record is cut off again: a file holds whole entries. A file or pipe has one writer at a
 * time: it is locked (flock(2)), by whatever name it is opened. Logs once when writing fails, and
 * once when it works again. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/queue/gap.h"

enum {
	SINK_WAITING_BYTES = 8 * 1024 * 1024 /* buffer limit; a single larger write fits, too */
};

struct sink;

struct sink_status {
	uint64_t written_records; /* records accepted completely by the kernel */
	uint64_t dropped_records; /* since the start */
	uint64_t failures; /* writes that failed */
	size_t waiting_bytes;
	unsigned int files; /* files begun after the first, because of bytes_max */
	bool is_over; /* the reader of a pipe is gone */
};

struct sink_file {
	const char *path; /* "-" or "/dev/stdout": standard output */
	bool overwrites; /* overwrites an existing file that is not empty */
	uint64_t bytes_max; /* of PATH and PATH.1 together (below); 0 = no limit. Entries with a
			       common check (record/check.h) are in one file. */
	/* With a limit: returns what each file but the first begins with: whole entries, owned by
	 * the callee until the next call. NULL: no memory; the file begins without. */
	const void *(*head)(void *user, size_t *ret_size_bytes);
	void *user;
};

/*
 * Opens the file for writing, as output_file_open() does (base/output_file.h), or standard output
 * (stays open after sink_close). Refuses a file that is not empty, unless it is to be overwritten:
 * then the first write empties it, and until then nothing in it is lost. Waits for the reader of a
 * named pipe, until a signal arrives that the caller has blocked (signals.h).
 *
 * With a limit: before the file grows above half of it (unless a single write does), it is renamed
 * to PATH.1, which replaces the previous one, and a new PATH begins with its head. A file that
 * somebody else moved away is left there. While this fails nothing is written: entries wait, as for
 * a full disk.
 *
 * file->path is copied; head and user are used until sink_close. 0 and *ret_sink, owned by the
 * caller; -EWOULDBLOCK: another process writes to it; -EEXIST: it is not empty, or with a limit
 * PATH.1 exists; -EINVAL: a limit, but no file; -EPERM: others may access it (output_file.h);
 * -ENOTTY when "-" is a terminal; -EINTR: that signal, not logged; -ENOMEM; -errno of open(2). Logs
 * the others.
 */
int sink_open(const struct sink_file *file, struct sink **ret_sink);

/*
 * Checks, without changing anything, whether sink_open would refuse what is at path now: 0 or its
 * -errno (logged). For use before the work that leads to sink_open.
 */
int sink_check(const struct sink_file *file);

/* Takes whole entries, `records` in number. Writes as much as can be written now, the waiting
 * entries first. */
void sink_write(struct sink *sink, const void *entries, size_t size_bytes, size_t records);
/* Writes as much of the waiting entries as can be written now. */
void sink_flush(struct sink *sink);
/* The fd to wait for, until it is writable, before sink_flush is worth a try; -1 = none. */
int sink_fd(const struct sink *sink);
/* The time to wait for instead (CLOCK_MONOTONIC): retry of a failed write; UINT64_MAX = none. */
uint64_t sink_due_ns(const struct sink *sink);

/* True if something was dropped since the last call, and the buffer has ample room again. */
bool sink_take_gap(struct sink *sink, struct gap *ret_gap);
void sink_get_status(const struct sink *sink, struct sink_status *ret_status);

/*
 * Tries to write the waiting entries, closes and frees; ret_status (NULL = not wanted): the final
 * status. 0; -EPIPE: the reader was gone, not logged; -EIO, logged: something was dropped, now or
 * before; or the -errno of close(2), logged (a full network disk may report its error only here).
 * NULL is 0.
 */
int sink_close(struct sink *sink, struct sink_status *ret_status);
