/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A progress line on the terminal while a file is read: appears after a second, and is erased at
 * the end. Prints nothing without a terminal. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *name; /* borrowed */
	uint64_t begin_ns; /* monotonic; 0: no terminal */
	uint64_t next_ns; /* time of the next update */
	uint64_t total_bytes; /* 0 = not known: a pipe */
	unsigned int calls;
	bool is_shown;
};

/* Does nothing if standard error is not a terminal. path: of a file, or "-". */
void progress_begin(struct progress *progress, const char *path, const char *name);
/* Reports what was read so far. Call for each record: it usually returns at once. */
void progress_tell(struct progress *progress, uint64_t bytes, uint64_t records);
/* Erases the line: the next output starts on an empty one. */
void progress_end(struct progress *progress);
