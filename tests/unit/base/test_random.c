/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "base/random.h"

UNIT_TEST_ALONE;

enum {
	MOST_BYTES = 256,
	DRAWS = 8, /* a byte that is 0 in each of them: one time in 2^64 */
};

TEST(random_bytes_fill_buffer_and_write_none_beyond)
{
	uint8_t bytes[MOST_BYTES + 1], seen[MOST_BYTES + 1];

	for (size_t size = 0; size <= MOST_BYTES; size++) {
		memset(seen, 0, sizeof(seen));
		for (unsigned int draw = 0; draw < DRAWS; draw++) {
			memset(bytes, 0, sizeof(bytes));
			assert_int_equal(random_bytes(bytes, size), 0);
			for (size_t i = 0; i < sizeof(bytes); i++)
				seen[i] |= bytes[i];
		}
		for (size_t i = 0; i < sizeof(seen); i++)
			assert_int_equal(seen[i] != 0, i < size);
	}
}

TEST(random_seed_differs_on_each_call)
{
	uint64_t seeds[DRAWS], bits = 0;

	for (size_t i = 0; i < DRAWS; i++) {
		seeds[i] = random_seed();
		bits |= seeds[i];
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(seeds[i], seeds[j]);
	}
	/* Of years, a clock has none of these. */
	assert_true(bits >> 60);
}

/* As early in the machine's life, when the kernel has no randomness yet. */
static bool is_early;

/* Instead of libc's. */
ssize_t getrandom(void *ret_bytes, size_t size_bytes, unsigned int flags)
{
	if (!is_early || !(flags & GRND_NONBLOCK))
		return syscall(SYS_getrandom, ret_bytes, size_bytes, flags);
	errno = EAGAIN;
	return -1;
}

TEST(random_seed_falls_back_to_time_and_address_without_entropy)
{
	uint64_t before_ns = clock_monotonic_ns(), seed;

	is_early = true;
	seed = random_seed();
	is_early = false;
	/* The time's quick half as it is, and an address in the slow one. */
	assert_true((uint32_t)(seed - before_ns) <= clock_monotonic_ns() - before_ns);
	assert_int_not_equal(seed >> 32, before_ns >> 32);
}
