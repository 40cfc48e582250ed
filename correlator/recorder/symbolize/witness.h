/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a name was made of: every piece of the target's memory that was read for it. A name that is
 * kept is true for as long as all of them, read again, are what they were; then reading all anew
 * would give it, too. So no object that was freed lends its name to the one that follows at its
 * address, whatever they have in common. Owns nothing; single thread; does not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/target/proc/memory_reader.h"

enum {
	WITNESS_READS_MAX = 64,
	WITNESS_BYTES_MAX = 4096, /* of all reads */
};

struct witness_read {
	uint64_t address;
	uint64_t size_bytes;
};

/* Some 5 KiB. Its reader's context is itself: it must not move while that is in use. */
struct witness {
	struct memory_reader reader; /* reads the target, and notes it; -E2BIG beyond the bounds */
	const struct memory_reader *target; /* borrowed */
	size_t count;
	size_t used_bytes;
	struct witness_read reads[WITNESS_READS_MAX];
	uint8_t bytes[WITNESS_BYTES_MAX];
};

void witness_init(struct witness *witness, const struct memory_reader *target);

/* A word that was read for itself. */
bool witness_find_u64(const struct witness *witness, uint64_t address, uint64_t *ret_word);

/* Of what the reads gave, in their order, by a seed that the target does not know. */
uint64_t witness_hash(const struct witness *witness, uint64_t seed);

/*
 * Reads all again, in one go. 0, and their hash as it is now; -EFAULT when one is gone, or an error
 * of the reader. count <= WITNESS_READS_MAX, and all together WITNESS_BYTES_MAX.
 */
int witness_read_again(const struct memory_reader *target, const struct witness_read *reads,
		       size_t count, uint64_t seed, uint64_t *ret_hash);
