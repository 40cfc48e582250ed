/*
 * Where encoded entries go: a file, or standard output. One sink_write carries whole entries and is
 * all or nothing: when the disk fills up in the middle, the partial tail is cut off again, so a
 * file holds complete entries only. Writing blocks while a pipe is full. Single thread.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct sink;

/*
 * Opens path for writing, created with mode 0600 or emptied, or standard output for "-" (stays
 * open after sink_close). 0 and *ret_sink, owned by the caller; -ENOTTY when "-" is a terminal;
 * -ENOMEM; -errno of open(2). Logs its errors.
 */
int sink_open(const char *path, struct sink **ret_sink);

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
