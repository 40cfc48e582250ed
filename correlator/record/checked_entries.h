/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Iterates over the entries of a recording like entry_search, but where there are checks returns
 * only entries whose check holds (check.h). Recordings with and without checks may follow each
 * other. Pure; single thread.
 *
 * A recording that was cut off may end with entries that no check covers. They are returned, and
 * counted (is_loose); a caller that wants only checked entries skips them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CHECKED_CHECK = 1, /* besides 0 and -errno */
};

struct checked_entries {
	bool is_checked; /* has checks; a caller that knows may set it before the first byte */
	bool is_loose; /* no check covers the bytes at the front */
	size_t known_bytes; /* at the front: inspected; entries can be taken from them */
	size_t searched_bytes; /* at the front: contain no check */
	uint64_t checks; /* checks that held */
	uint64_t loose_bytes; /* passed with is_loose */
};

/*
 * Like entry_search, with two more results:
 *   - CHECKED_CHECK: the check at the front holds; *ret_bytes is its size.
 *   - -EILSEQ: *ret_bytes do not match their check.
 * -EAGAIN is also returned for entries whose check has not arrived yet. Moves nothing: the same
 * call returns the same again.
 */
int checked_search(struct checked_entries *entries, const uint8_t *bytes, size_t available_bytes,
		   bool is_end, size_t *ret_bytes);
/* Moves the front by size_bytes, as returned by checked_search. */
void checked_pass(struct checked_entries *entries, size_t size_bytes);

/* Number of bytes at the front that are known to be good; 0: call checked_search. SIZE_MAX: there
 * are no checks. */
size_t checked_reach(const struct checked_entries *entries);
