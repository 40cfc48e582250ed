/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The entries of a recording one after the other, as entry_search has them, but in what has checks
 * only those whose check holds (check.h). Recordings may follow each other, with checks and
 * without. Pure; single thread.
 *
 * At the end of a recording that was cut off may be entries that no check covers. They are given,
 * and counted (is_loose); a caller that wants only checked ones leaves them out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CHECKED_CHECK = 1, /* beside 0 and -errno */
};

struct checked_entries {
	bool is_checked; /* there are checks; who knows may say so before the first byte */
	bool is_loose; /* no check covers what is at the front */
	size_t known_bytes; /* at the front: looked at, and entries can be taken from them */
	size_t searched_bytes; /* at the front: there is no check in them */
	uint64_t checks; /* that held */
	uint64_t loose_bytes; /* that were passed over with is_loose */
};

/*
 * As entry_search, and two more: CHECKED_CHECK: a check is at the front, and it holds, *ret_bytes
 * are its; -EILSEQ: *ret_bytes do not check. -EAGAIN also of entries whose check has not come yet.
 * Looks, and moves nothing: the same call gives the same again.
 */
int checked_search(struct checked_entries *entries, const uint8_t *bytes, size_t available_bytes,
		   bool is_end, size_t *ret_bytes);
/* Moves the front by size_bytes, which checked_search has given. */
void checked_pass(struct checked_entries *entries, size_t size_bytes);

/* How many bytes at the front are known to be good; 0: ask checked_search. SIZE_MAX: there are no
 * checks. */
size_t checked_reach(const struct checked_entries *entries);
