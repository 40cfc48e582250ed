/* SPDX-License-Identifier: GPL-2.0-only */
/* Edit distance between a name and a possible typo of it. Pure; any thread. */
#pragma once

enum {
	EDIT_DISTANCE_BYTES_MAX = 64
};

/* Levenshtein distance, ignoring case: the number of bytes to insert, drop or change to turn one
 * into other, at most the length of the longer one. Returns EDIT_DISTANCE_BYTES_MAX + 1 if either
 * is longer than EDIT_DISTANCE_BYTES_MAX. */
unsigned int edit_distance(const char *one, const char *other);

/* A string at a smaller edit distance from name may be a typo of it. */
unsigned int edit_distance_of_slips(const char *name);
