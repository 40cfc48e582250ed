/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one hash of userspace: SipHash-1-3 (correlator/context_hash.h). With a secret seed for tables
 * whose keys somebody else chooses: whoever does not know the seed cannot make them collide. With a
 * fixed one, a digest that tells whether something has changed; digests chain by their seed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size_bytes);
/* For the tables of uthash. */
unsigned int hash_table_key(uint64_t seed, const void *bytes, size_t size_bytes);
