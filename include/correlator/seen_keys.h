/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which keys a context has, whoever wants them: so that, where a wanted one is missing, those that
 * there are can be named.
 */
#pragma once

#include <linux/types.h>

enum {
	SEEN_KEYS_MAX = 8 /* of a larger table the first slots */
};

/* Of one table. */
struct seen_keys {
	__u64 life; /* of the process (life.h) */
	__u64 keys[SEEN_KEYS_MAX]; /* IDs of Ruby's symbol table, 0 = an empty slot */
};
