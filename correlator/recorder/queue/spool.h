/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A store in a directory, for one process at a time: what is sealed there survives us, and the
 * machine. Sealed segments are files NUMBER-ID-ENTRIES-FIRST-LAST.chunks, one that is still written
 * NUMBER-ID.part, entries that no receiver took are in rejected/rejected.msgpack; each file is
 * whole entries, as a recording is. What was written at once is followed by its check (check.h),
 * and only what checks is read. Those of an older correlator, without checks, are .chunk and .open.
 * Segments that turned out damaged are in damaged/. Logs.
 */
#pragma once

#include "recorder/queue/segment.h"
#include "recorder/queue/store.h"

/* Whether a directory is a spool: 0; -ENOENT: it is not (logged). To be asked by who makes none:
 * any other one would get a lock, and be found empty. */
int spool_expect(const char *path);

/*
 * Makes the directory (mode 0700) if it is not there, locks it, and appends to *segments (utlist)
 * what an earlier process left, oldest first, each sealed and kept. A segment that was cut off is
 * salvaged entry by entry. 0, and the store is the caller's to free by its type; -EWOULDBLOCK:
 * another process has it; -EPERM: it is not ours alone; or another -errno. All logged.
 */
int spool_open(const char *path, struct store **ret_store, struct segment **segments);
