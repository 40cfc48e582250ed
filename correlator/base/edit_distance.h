/* SPDX-License-Identifier: GPL-2.0-only */
/* How far a slip is from what was meant. Pure; any thread. */
#pragma once

enum {
	EDIT_DISTANCE_BYTES_MAX = 64
};

/* Bytes to insert, drop or change to make one of the other (Levenshtein's distance), of either
 * case, at most as many as the longer one has; EDIT_DISTANCE_BYTES_MAX + 1 if one of them is longer
 * than that. */
unsigned int edit_distance(const char *one, const char *other);

/* A name that is less far from this one may be a slip of it. */
unsigned int edit_distance_of_slips(const char *name);
