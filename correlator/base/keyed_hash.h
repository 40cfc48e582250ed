/*
 * A fast hash with a secret seed, for tables whose keys somebody else chooses: whoever does not
 * know the seed cannot make them collide. Not a cryptographic hash.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A fresh random seed. */
uint64_t keyed_hash_seed(void);

unsigned int keyed_hash(uint64_t seed, const void *bytes, size_t size_bytes);
