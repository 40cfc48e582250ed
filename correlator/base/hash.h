/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only hash of user space: SipHash-1-3 (correlator/context_hash.h). With a secret seed, for
 * tables whose keys come from outside: without the seed nobody can make them collide. With a fixed
 * seed, a digest that detects changes; digests chain through the seed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size_bytes);
/* For uthash tables. */
unsigned int hash_table_key(uint64_t seed, const void *bytes, size_t size_bytes);
