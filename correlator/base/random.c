/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>

#include "base/clock.h"

int random_bytes(void *ret_bytes, size_t size_bytes)
{
	return getrandom(ret_bytes, size_bytes, 0) < 0 ? -errno : 0;
}

uint64_t random_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed))
		return seed;
	return (uint64_t)(uintptr_t)&seed << 32 ^ clock_monotonic_ns();
}
