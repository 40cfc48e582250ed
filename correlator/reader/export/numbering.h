/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers what it is asked for, from 0 on, in the order of the first time: for formats whose parts
 * refer to each other by number. Single thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reader/profile/frames.h"

struct numbering_entry;

struct numbering {
	struct numbering_entry *table; /* uthash */
	uint64_t seed;
};

/* Texts are the same if their addresses are; what is not needed is 0. */
struct numbering_key {
	const struct frames_text *name;
	const struct frames_text *file;
	uint64_t number;
};

void numbering_init(struct numbering *numbering);
void numbering_deinit(struct numbering *numbering);

/* 0 and its number; 1: it is a new one; -ENOMEM. */
int numbering_find(struct numbering *numbering, const struct numbering_key *key,
		   uint64_t *ret_number);

/* The one that has the next number; the first after NULL, NULL after the last. */
const struct numbering_key *numbering_next(const struct numbering *numbering,
					   const struct numbering_key *key);
