/* SPDX-License-Identifier: GPL-2.0-only */
/* Growable arrays: the capacity doubles, so that appending n items copies at most 2 n. Pure; any
 * thread. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Grows items (owned; from malloc, or NULL with *room 0) to hold at least count items (>= 1) of
 * item_bytes each. Reallocates and raises *room only if necessary. Returns NULL if memory runs out;
 * items is unchanged then.
 */
void *array_resized(void *items, size_t *room, size_t count, size_t item_bytes);

/* Does the same for *items with capacity *room. Returns 0 or -ENOMEM. */
#define array_reserve(items, room, count)                                                     \
	({                                                                                    \
		void *resized_ = array_resized(*(items), (room), (count), sizeof(**(items))); \
		if (resized_)                                                                 \
			*(items) = resized_;                                                  \
		resized_ ? 0 : -ENOMEM;                                                       \
	})

/*
 * The number of items whose first member, a uint64_t, is at most value; the items are sorted by it.
 * A binary search.
 */
size_t array_count_up_to(const void *items, size_t count, size_t item_bytes, uint64_t value);
