/*
 * A store in a directory, for one process at a time: what is sealed there survives us, and the
 * machine. Sealed segments are files NUMBER-ID-ENTRIES-FIRST-LAST.chunk, one that is still written
 * NUMBER-ID.open, entries that no receiver took are in rejected/rejected.msgpack; each file is
 * whole entries, as a recording is. Logs.
 */
#pragma once

#include <stddef.h>

#include "queue/segment.h"
#include "queue/store.h"

enum {
	SPOOL_REJECTED_BYTES_MAX = 16 * 1024 * 1024, /* what is rejected beyond is only counted */
};

/*
 * Makes the directory (mode 0700) if it is not there, and locks it. 0; -EWOULDBLOCK: another
 * process has it; -EPERM: it is not ours alone; or -errno. All logged.
 */
int spool_open(const char *path, struct store **ret_store);

/*
 * What an earlier process left, oldest first, appended to *segments (utlist), each sealed and kept.
 * A segment that was cut off is salvaged entry by entry. 0, or -errno (logged).
 */
int spool_load(struct store *store, struct segment **segments);
