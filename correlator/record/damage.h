/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The unreadable parts of a file: ranges of bytes that were skipped, each logged as a warning when
 * it ends. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct damage {
	const char *name; /* the file's; name and fate are set by the owner, for the warnings */
	const char *fate; /* what happens to the bytes: "passed over" */
	uint64_t places;
	uint64_t bytes; /* of all ranges */
	bool is_open; /* the last range has not ended yet */
	uint64_t offset; /* in the file, of the last range */
	uint64_t last_bytes;
	const char *what; /* static text: what was wrong at its beginning */
	int error; /* its -errno */
};

/* Adds size_bytes at offset that were skipped; extends the range that is open, if any. */
void damage_add(struct damage *damage, uint64_t offset, uint64_t size_bytes, int error,
		const char *what);

/* Ends the range that is open, since something could be read again; logs it if it is one of the
 * first. */
void damage_end(struct damage *damage);

/* Call at the end of the file: ends the open range, and logs the total if not every range was
 * logged. */
void damage_finish(struct damage *damage);
