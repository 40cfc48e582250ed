/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays that grow: the room of one doubles, so that appending n items copies at most 2 n. Pure;
 * any thread. */
#pragma once

#include <errno.h>
#include <stddef.h>

/*
 * items (owned: from malloc, or NULL with *room 0), with room for count items (>= 1) of item_bytes
 * each: moved and *room grown where that is necessary. NULL: there is no memory, and items is as it
 * was.
 */
void *array_resized(void *items, size_t *room, size_t count, size_t item_bytes);

/* The same of *items, whose room is *room. 0, -ENOMEM. */
#define array_reserve(items, room, count)                                                     \
	({                                                                                    \
		void *resized_ = array_resized(*(items), (room), (count), sizeof(**(items))); \
		if (resized_)                                                                 \
			*(items) = resized_;                                                  \
		resized_ ? 0 : -ENOMEM;                                                       \
	})
