/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/* How many of count rows `--top top_count` shows; 0 = all. */
static inline size_t top_shown(size_t count, size_t top_count)
{
	return top_count > 0 && top_count < count ? top_count : count;
}
