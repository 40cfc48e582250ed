/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/backoff.h"

uint64_t backoff_next(struct backoff *backoff, uint64_t random)
{
	uint64_t ceiling_ns = backoff->ceiling_ns ? backoff->ceiling_ns : backoff->base_ns;

	backoff->ceiling_ns =
		ceiling_ns > backoff->ceiling_max_ns / 2 ? backoff->ceiling_max_ns : 2 * ceiling_ns;
	return 1 + random % ceiling_ns;
}

void backoff_reset(struct backoff *backoff)
{
	backoff->ceiling_ns = 0;
}
