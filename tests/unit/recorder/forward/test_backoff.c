/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "recorder/forward/backoff.h"

enum {
	BASE_NS = 500,
	CEILING_NS = 60000
};

TEST(backoff_ceiling_doubles_up_to_maximum)
{
	struct backoff backoff = { .base_ns = BASE_NS, .ceiling_max_ns = CEILING_NS };
	uint64_t ceiling_ns = BASE_NS;

	for (int i = 0; i < 100; i++) {
		/* The largest remainder: the wait is the ceiling itself. */
		assert_int_equal(backoff_next(&backoff, ceiling_ns - 1), ceiling_ns);
		ceiling_ns = 2 * ceiling_ns < CEILING_NS ? 2 * ceiling_ns : CEILING_NS;
	}
	assert_int_equal(ceiling_ns, CEILING_NS);
	backoff_reset(&backoff);
	assert_int_equal(backoff_next(&backoff, BASE_NS - 1), BASE_NS);
}

TEST(backoff_waits_are_uniform_below_ceiling)
{
	enum {
		ROUNDS = 4000,
		TENTHS = 10
	};
	unsigned int counts[TENTHS] = { 0 };
	uint64_t random = 88172645463325252ULL;

	for (int i = 0; i < ROUNDS; i++) {
		struct backoff backoff = { .base_ns = BASE_NS, .ceiling_max_ns = CEILING_NS };
		uint64_t wait_ns;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		wait_ns = backoff_next(&backoff, random);
		assert_in_range(wait_ns, 1, BASE_NS);
		counts[(wait_ns - 1) * TENTHS / BASE_NS]++;
	}
	/* 400 each are expected, with a standard deviation of 19. */
	for (int i = 0; i < TENTHS; i++)
		assert_in_range(counts[i], 300, 500);
}

TEST(backoff_ceiling_does_not_overflow)
{
	struct backoff backoff = { .base_ns = UINT64_MAX / 2, .ceiling_max_ns = UINT64_MAX };

	for (int i = 0; i < 4; i++)
		assert_true(backoff_next(&backoff, UINT64_MAX) > 0);
	assert_int_equal(backoff.ceiling_ns, UINT64_MAX);
}
