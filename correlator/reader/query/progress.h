/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A line on a terminal that says how far the reading of a file is, from a second on, and is gone
 * when it is done. Elsewhere nothing is said. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *name; /* borrowed */
	uint64_t begin_ns; /* monotonic; 0: nobody looks */
	uint64_t next_ns; /* when it is said the next time */
	uint64_t total_bytes; /* 0 = not known: a pipe */
	unsigned int calls;
	bool is_shown;
};

/* Whether standard error is a terminal is asked here. path: of a file, or "-". */
void progress_begin(struct progress *progress, const char *path, const char *name);
/* So much was read. For each record: it mostly returns at once. */
void progress_tell(struct progress *progress, uint64_t bytes, uint64_t records);
/* Whatever is written next begins an empty line. */
void progress_end(struct progress *progress);
