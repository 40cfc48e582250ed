/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The digest that distinguishes values too long to be captured: SipHash-1-3 over the length and the
 * bytes. It covers all bytes of a value up to VALUE_DIGEST_BYTES_MAX; for a longer value it covers
 * that many, including the last VALUE_BYTES_MAX. Pure; read in chunks, so that the kernel's share
 * is bounded.
 *
 * Its key is fixed: a value has the same digest, which ends its text in the records, in every
 * process and every recording. The price: anybody who can choose values can, with some 2^32 trials,
 * make two of them that begin alike look like one.
 */
#pragma once

#include <linux/types.h>

#include <correlator/context_hash.h>
#include <correlator/limits.h>
#include <correlator/snapshot.h>

enum {
	VALUE_CHUNKS_MAX = VALUE_DIGEST_BYTES_MAX / VALUE_BYTES_MAX
};

/*
 * *ret_offset becomes the start of chunk number `index` of a value. Returns the chunk's bytes, 0
 * past the last. Chunk VALUE_CHUNKS_MAX - 1, if full, is the end of the value.
 */
static inline __u32 value_chunk_locate(__u32 index, __u64 length_bytes, __u64 *ret_offset)
{
	__u64 offset = (__u64)index * VALUE_BYTES_MAX;

	if (index >= VALUE_CHUNKS_MAX || offset >= length_bytes)
		return 0;
	*ret_offset = offset;
	if (length_bytes - offset < VALUE_BYTES_MAX)
		return (__u32)(length_bytes - offset);
	if (index == VALUE_CHUNKS_MAX - 1)
		*ret_offset = length_bytes - VALUE_BYTES_MAX;
	return VALUE_BYTES_MAX;
}

static inline void value_digest_init(struct context_hash_state *state, __u64 length_bytes)
{
	const struct context_hash_key key = { .words = { 0x636f7272656c6174ULL, 1 } };

	context_hash_init(state, &key);
	context_hash_add(state, length_bytes);
}

/* Add each chunk in turn, then call context_hash_final(). */
static inline void value_digest_add(struct context_hash_state *state,
				    const struct value_chunk *chunk)
{
	for (__u32 i = 0; i < VALUE_BYTES_MAX / 8; i++)
		context_hash_add(state, chunk->words[i]);
}
