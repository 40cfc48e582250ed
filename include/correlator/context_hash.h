/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The 64-bit keyed hash that identifies a context: SipHash-1-3 over the captured values, so that a
 * target that does not know the key cannot make two contexts collide on purpose. Pure; the same
 * result in the kernel and in userspace. Source of the algorithm: Aumasson, Bernstein, "SipHash: a
 * fast short-input PRF" (2012).
 */
#pragma once

#include <linux/types.h>

#include <correlator/snapshot.h>

struct context_hash_key {
	__u64 words[2]; /* random, generated for each session */
};

struct context_hash_state {
	__u64 v0;
	__u64 v1;
	__u64 v2;
	__u64 v3;
	__u64 count;
};

static inline __u64 context_hash_rotate(__u64 value, unsigned int bits)
{
	return (value << bits) | (value >> (64 - bits));
}

static inline void context_hash_round(struct context_hash_state *state)
{
	state->v0 += state->v1;
	state->v2 += state->v3;
	state->v1 = context_hash_rotate(state->v1, 13) ^ state->v0;
	state->v3 = context_hash_rotate(state->v3, 16) ^ state->v2;
	state->v0 = context_hash_rotate(state->v0, 32);
	state->v2 += state->v1;
	state->v0 += state->v3;
	state->v1 = context_hash_rotate(state->v1, 17) ^ state->v2;
	state->v3 = context_hash_rotate(state->v3, 21) ^ state->v0;
	state->v2 = context_hash_rotate(state->v2, 32);
}

static inline void context_hash_init(struct context_hash_state *state,
				     const struct context_hash_key *key)
{
	state->v0 = key->words[0] ^ 0x736f6d6570736575ULL;
	state->v1 = key->words[1] ^ 0x646f72616e646f6dULL;
	state->v2 = key->words[0] ^ 0x6c7967656e657261ULL;
	state->v3 = key->words[1] ^ 0x7465646279746573ULL;
	state->count = 0;
}

static inline void context_hash_add(struct context_hash_state *state, __u64 word)
{
	state->v3 ^= word;
	context_hash_round(state);
	state->v0 ^= word;
	state->count++;
}

/* Avoids the small values, which have fixed meanings (snapshot.h). */
static inline __u64 context_hash_reserve(__u64 hash)
{
	return hash < CONTEXT_HASH_FIRST ? hash + CONTEXT_HASH_FIRST : hash;
}

static inline __u64 context_hash_final(struct context_hash_state *state)
{
	context_hash_add(state, (state->count * 8) << 56);
	state->v2 ^= 0xff;
	context_hash_round(state);
	context_hash_round(state);
	context_hash_round(state);
	return context_hash_reserve(state->v0 ^ state->v1 ^ state->v2 ^ state->v3);
}

/* Adds everything that distinguishes the value. Bytes beyond length_bytes must be zero up to the
 * next multiple of eight. */
static inline void context_hash_add_value(struct context_hash_state *state,
					  const struct value_snapshot *value)
{
	__u32 count = ((__u32)value->length_bytes + 7) / 8;

	context_hash_add(state, (__u64)value->kind | (__u64)value->flags << 8 |
					(__u64)value->length_bytes << 16 |
					(__u64)value->type << 32 | (__u64)value->encoding << 40);
	context_hash_add(state, value->raw);
	for (__u32 i = 0; i < VALUE_BYTES_MAX / 8; i++) {
		if (i >= count)
			break;
		context_hash_add(state, value->words[i]);
	}
}
