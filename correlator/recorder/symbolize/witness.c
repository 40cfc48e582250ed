/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/witness.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

static int read_and_note(const struct memory_reader *reader, uint64_t address, void *buffer,
			 size_t size_bytes)
{
	struct witness *witness = (struct witness *)(uintptr_t)reader->context;
	int r;

	if (witness->count == WITNESS_READS_MAX ||
	    size_bytes > WITNESS_BYTES_MAX - witness->used_bytes)
		return -E2BIG;
	r = memory_read(witness->target, address, buffer, size_bytes);
	if (r < 0)
		return r;
	memcpy(witness->bytes + witness->used_bytes, buffer, size_bytes);
	witness->used_bytes += size_bytes;
	witness->reads[witness->count++] = (struct witness_read){ address, size_bytes };
	return 0;
}

void witness_init(struct witness *witness, const struct memory_reader *target)
{
	witness->reader = (struct memory_reader){ .read = read_and_note, .context = witness };
	witness->target = target;
	witness->count = 0;
	witness->used_bytes = 0;
}

bool witness_find_u64(const struct witness *witness, uint64_t address, uint64_t *ret_word)
{
	size_t at = 0;

	for (size_t i = 0; i < witness->count; i++) {
		if (witness->reads[i].address == address &&
		    witness->reads[i].size_bytes == sizeof(*ret_word)) {
			memcpy(ret_word, witness->bytes + at, sizeof(*ret_word));
			return true;
		}
		at += witness->reads[i].size_bytes;
	}
	return false;
}

uint64_t witness_hash(const struct witness *witness, uint64_t seed)
{
	return hash_bytes(seed, witness->bytes, witness->used_bytes);
}

int witness_read_again(const struct memory_reader *target, const struct witness_read *reads,
		       size_t count, uint64_t seed, uint64_t *ret_hash)
{
	struct memory_span spans[WITNESS_READS_MAX];
	uint8_t bytes[WITNESS_BYTES_MAX];
	size_t used_bytes = 0;
	int r;

	for (size_t i = 0; i < count; i++) {
		spans[i] = (struct memory_span){ reads[i].address, bytes + used_bytes,
						 reads[i].size_bytes };
		used_bytes += reads[i].size_bytes;
	}
	r = memory_read_many(target, spans, count);
	if (r < 0)
		return r;
	*ret_hash = hash_bytes(seed, bytes, used_bytes);
	return 0;
}
