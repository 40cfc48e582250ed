/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/hash.h"

#include <string.h>

#include <correlator/context_hash.h>

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size_bytes)
{
	const struct context_hash_key key = { .words = { seed, size_bytes } };
	struct context_hash_state state;
	const char *next = bytes;

	context_hash_init(&state, &key);
	while (size_bytes > 0) {
		size_t step = size_bytes < sizeof(uint64_t) ? size_bytes : sizeof(uint64_t);
		uint64_t word = 0;

		memcpy(&word, next, step);
		context_hash_add(&state, word);
		next += step;
		size_bytes -= step;
	}
	return context_hash_final(&state);
}

unsigned int hash_table_key(uint64_t seed, const void *bytes, size_t size_bytes)
{
	return (unsigned int)hash_bytes(seed, bytes, size_bytes);
}
