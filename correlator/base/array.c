/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

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
