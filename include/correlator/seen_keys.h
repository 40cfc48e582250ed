/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The keys that a context has, wanted or not: if a wanted key is missing, userspace names those
 * that are present.
 */
#pragma once

#include <linux/types.h>

enum {
	SEEN_KEYS_MAX = 8 /* of a larger table only the first slots */
};

/* The keys of one table. */
struct seen_keys {
	__u64 life; /* of the process (life.h) */
	__u64 keys[SEEN_KEYS_MAX]; /* IDs of Ruby's symbol table, 0 = an empty slot */
};
