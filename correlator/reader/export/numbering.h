/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers keys from 0 in order of first use, for formats whose parts refer to each other by number.
 * Single thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reader/profile/frames.h"

struct numbering_entry;

struct numbering {
	struct numbering_entry *table; /* uthash */
	uint64_t seed;
};

/* Equal texts have equal addresses; unused members are 0. */
struct numbering_key {
	const struct frames_text *name;
	const struct frames_text *file;
	uint64_t number;
};

void numbering_init(struct numbering *numbering);
void numbering_deinit(struct numbering *numbering);

/* Looks up or adds a key. 0 and its number; 1: the same for a new key; -ENOMEM. */
int numbering_find(struct numbering *numbering, const struct numbering_key *key,
		   uint64_t *ret_number);

/* The key with the next number: the first if key is NULL; NULL after the last. */
const struct numbering_key *numbering_next(const struct numbering *numbering,
					   const struct numbering_key *key);
