/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where encoded entries go: a file, a pipe, or standard output. One sink_write carries whole
 * entries and is all or nothing: when the disk fills up in the middle, the partial tail is cut off
 * again, so a file holds complete entries only. A file or pipe has one writer at a time: it is
 * locked (flock(2)), by whatever name it is opened. Writing blocks while a pipe is full. Single
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct sink;

/*
 * Opens path for writing, created with mode 0600 if it is not there, or standard output for "-"
 * (stays open after sink_close). A file that is not empty is refused, unless it is to be
 * overwritten: then the first sink_write empties it, and until then nothing of it is lost.
 * 0 and *ret_sink, owned by the caller; -EWOULDBLOCK: another one writes to it; -EEXIST: it is not
 * empty; -ENOTTY when "-" is a terminal; -ENOMEM; -errno of open(2). Logs its errors.
 */
int sink_open(const char *path, bool overwrites, struct sink **ret_sink);

/*
 * Whether sink_open would be refused because of what is at path now, without changing anything: 0
 * or its -errno (logged). To be told before the work that leads to sink_open.
 */
int sink_check(const char *path, bool overwrites);

/*
 * Writes size_bytes of whole entries. 0, or -errno, logged with the name of the file; -EPIPE, which
 * is not logged, when the reader of a pipe is gone (the caller ignores SIGPIPE). After a failure
 * the sink stays failed: each further call returns the same error and writes nothing.
 */
int sink_write(struct sink *sink, const void *bytes, size_t size_bytes);

/* Closes and frees: 0 or the -errno of close(2), logged (a full network disk may say so only
 * here). NULL is 0. */
int sink_close(struct sink *sink);
DEFINE_CLEANUP(struct sink *, sink_close);
