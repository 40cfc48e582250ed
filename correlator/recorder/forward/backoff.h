/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Computes the wait before the next try: full jitter below a ceiling that doubles with each
 * failure. Reset it on an ack, not on a connect: a receiver that is paused or refuses still accepts
 * connections. Pure: the caller provides the randomness.
 */
#pragma once

#include <stdint.h>

struct backoff {
	uint64_t base_ns; /* ceiling of the first wait; > 0 */
	uint64_t ceiling_max_ns; /* >= base_ns */
	uint64_t ceiling_ns; /* of the next wait; 0 = base_ns */
};

/* The next wait: from 1 ns to the ceiling, which then doubles. random: 64 random bits. */
uint64_t backoff_next(struct backoff *backoff, uint64_t random);
void backoff_reset(struct backoff *backoff);
