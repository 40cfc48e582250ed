/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void *array_resized(void *items, size_t *room, size_t count, size_t item_bytes)
{
	size_t wanted = *room <= SIZE_MAX / 2 && 2 * *room > count ? 2 * *room : count;
	size_t bytes;
	void *resized;

	if (count <= *room)
		return items;
	if (__builtin_mul_overflow(wanted, item_bytes, &bytes))
		return NULL;
	resized = realloc(items, bytes);
	if (resized)
		*room = wanted;
	return resized;
}

size_t array_count_up_to(const void *items, size_t count, size_t item_bytes, uint64_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t first;

		memcpy(&first, (const char *)items + middle * item_bytes, sizeof(first));
		if (first <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
