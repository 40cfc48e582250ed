#include "base/keyed_hash.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

uint64_t keyed_hash_seed(void)
{
	struct timespec now = { 0 };
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed))
		return seed;
	/* Early in boot there is no randomness yet: the time and an address are a little. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)(uintptr_t)&now << 32 ^ (uint64_t)now.tv_nsec;
}

/* Folds the 128-bit product of two words: every input bit reaches every output bit. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

unsigned int keyed_hash(uint64_t seed, const void *bytes, size_t size_bytes)
{
	/* Odd, with about half of the bits set: the first digits of pi and of e. */
	const uint64_t multiplier = 0x243f6a8885a308d3, finisher = 0xb7e151628aed2a6b;
	uint64_t hash = seed ^ size_bytes;
	const char *next = bytes;

	while (size_bytes > 0) {
		size_t step = size_bytes < sizeof(uint64_t) ? size_bytes : sizeof(uint64_t);
		uint64_t word = 0;

		memcpy(&word, next, step);
		hash = mix(hash ^ word, multiplier) + seed;
		next += step;
		size_bytes -= step;
	}
	hash = mix(hash ^ finisher, multiplier ^ seed);
	return (unsigned int)(hash ^ hash >> 32);
}
