/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How families of processes share the capacity of a map, so that one that takes all it can get
 * leaves some for the others: each may hold up to SHARE_FACTOR times as much as is still free. A
 * single family gets three quarters of the map; n greedy ones leave 1 / (1 + 3 n) of it free. A
 * family is a process that userspace observes and all that it forks: forking does not get it more.
 * Pure but for the atomic additions; the kernel programs add, userspace subtracts what it takes
 * out.
 * Source: Choudhury, Hahne, "Dynamic Queue Length Thresholds" (1998).
 */
#pragma once

#include <linux/types.h>

enum {
	SHARE_FACTOR = 3,
	/* Families are numbered below this; 0 is for those without a number yet. */
	SHARE_SLOTS = 1024,
};

struct share_table {
	__u32 used;
	__u32 used_by[SHARE_SLOTS];
};

_Static_assert(sizeof(struct share_table) == 4 + 4 * SHARE_SLOTS, "layout");

/* room: capacity of the map in entries. Concurrent threads may exceed a share by one entry each. */
static inline int share_has_room(const struct share_table *table, __u32 family, __u32 room)
{
	__u32 used = table->used;

	return used < room &&
	       table->used_by[family % SHARE_SLOTS] < (__u64)SHARE_FACTOR * (room - used);
}

static inline void share_add(struct share_table *table, __u32 family)
{
	__sync_fetch_and_add(&table->used, 1);
	__sync_fetch_and_add(&table->used_by[family % SHARE_SLOTS], 1);
}

static inline void share_remove(struct share_table *table, __u32 family)
{
	__sync_fetch_and_sub(&table->used, 1);
	__sync_fetch_and_sub(&table->used_by[family % SHARE_SLOTS], 1);
}

/*
 * Returns a number for a new family: one that holds nothing; if all hold something, the one that
 * holds least.
 */
static inline __u32 share_find_family(const struct share_table *table)
{
	__u32 family = 1;

	for (__u32 i = 1; i < SHARE_SLOTS && table->used_by[family]; i++)
		if (table->used_by[i] < table->used_by[family])
			family = i;
	return family;
}
