/*
 * What of a file could not be read: stretches of bytes that were passed over. Pure: the caller says
 * so, when one ends. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	DAMAGE_SAID_MAX = 8 /* stretches that are told one by one; then only the sum */
};

struct damage {
	uint64_t places;
	uint64_t bytes; /* of all of them */
	bool is_open; /* the last one goes on */
	uint64_t offset; /* in the file, of the last one */
	uint64_t last_bytes;
	const char *what; /* static text: what was wrong where it began */
	int error; /* the same, -errno */
};

/* Bytes at an offset were passed over; it may be more of the stretch that is open. */
void damage_add(struct damage *damage, uint64_t offset, uint64_t size_bytes, int error,
		const char *what);

/* Something could be read again. True: a stretch has ended, and is one of those to be told. */
bool damage_end(struct damage *damage);
