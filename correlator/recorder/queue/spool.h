/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A store in a directory, for one process at a time: sealed segments survive our exit, and a crash
 * of the machine. Its files:
 * - NUMBER-ID-ENTRIES-FIRST-LAST.chunks: a sealed segment,
 * - NUMBER-ID.part: a segment that is still being written,
 * - .chunk and .open: the same by an older correlator, without checks,
 * - rejected/rejected.msgpack: entries that no receiver accepted,
 * - damaged/: segments that turned out damaged.
 * A file holds whole entries, as a recording does. Each write is followed by its check (check.h),
 * and only entries whose check holds are read. Logs.
 */
#pragma once

#include "recorder/queue/segment.h"
#include "recorder/queue/store.h"

/* Checks that a directory is a spool: 0; -ENOENT: it is not (logged). For callers that do not make
 * one: spool_open would put a lock in any other directory and find it empty. */
int spool_expect(const char *path);

/*
 * Makes the directory (mode 0700) if it does not exist, locks it, and appends to *segments (utlist)
 * what an earlier process left, oldest first, each sealed and kept. A segment that was cut off is
 * salvaged entry by entry. 0, and the caller frees the store by its type; -EWOULDBLOCK: another
 * process has it; -EPERM: others own or may access it; or another -errno. All logged.
 */
int spool_open(const char *path, struct store **ret_store, struct segment **segments);
