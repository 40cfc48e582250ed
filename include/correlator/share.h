/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How processes share the room of a map, so that one that takes all it can get leaves some for the
 * others: each may hold up to SHARE_FACTOR times as much as is still free. Alone it gets three
 * quarters of the room; n that are greedy leave 1 / (1 + 3 n) of it. Pure but for the atomic
 * additions; the kernel programs add, userspace subtracts what it takes out.
 * Source: Choudhury, Hahne, "Dynamic Queue Length Thresholds" (1998).
 */
#pragma once

#include <linux/types.h>

enum {
	SHARE_FACTOR = 3,
	/* Processes whose pids are the same modulo this share one share. */
	SHARE_SLOTS = 1024,
};

struct share_table {
	__u32 used;
	__u32 used_by[SHARE_SLOTS];
};

_Static_assert(sizeof(struct share_table) == 4 + 4 * SHARE_SLOTS, "layout");

/* room: entries of the map. What several threads add at a time may go beyond it by as many. */
static inline int share_has_room(const struct share_table *table, __u32 tgid, __u32 room)
{
	__u32 used = table->used;

	return used < room &&
	       table->used_by[tgid % SHARE_SLOTS] < (__u64)SHARE_FACTOR * (room - used);
}

static inline void share_add(struct share_table *table, __u32 tgid)
{
	__sync_fetch_and_add(&table->used, 1);
	__sync_fetch_and_add(&table->used_by[tgid % SHARE_SLOTS], 1);
}

static inline void share_remove(struct share_table *table, __u32 tgid)
{
	__sync_fetch_and_sub(&table->used, 1);
	__sync_fetch_and_sub(&table->used_by[tgid % SHARE_SLOTS], 1);
}
