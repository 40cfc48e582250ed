/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What of a file could not be read: ranges of bytes that were passed over, each told in a
 * warning when it ends. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct damage {
	const char *name; /* these two are the owner's to set, for the warnings: of the file */
	const char *fate; /* what becomes of such bytes: "passed over" */
	uint64_t places;
	uint64_t bytes; /* of all of them */
	bool is_open; /* the last one goes on */
	uint64_t offset; /* in the file, of the last one */
	uint64_t last_bytes;
	const char *what; /* static text: what was wrong where it began */
	int error; /* the same, -errno */
};

/* Bytes at an offset were passed over; it may be more of the range that is open. */
void damage_add(struct damage *damage, uint64_t offset, uint64_t size_bytes, int error,
		const char *what);

/* Something could be read again: of a range that ends so it warns, if it is one of the first. */
void damage_end(struct damage *damage);

/* The end of the file: the same, and where not each was told, the sum. */
void damage_finish(struct damage *damage);
