/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The evidence for a name: every piece of the target's memory that was read for it. A cached name
 * is valid as long as all of them, read again, are unchanged; reading everything anew would then
 * yield the same name. So no freed object lends its name to its successor at that address, whatever
 * they have in common. Owns nothing; single thread; does not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/target/proc/memory_reader.h"

enum {
	WITNESS_READS_MAX = 64,
	WITNESS_BYTES_MAX = 4096, /* total of all reads */
};

struct witness_read {
	uint64_t address;
	uint64_t size_bytes;
};

/*
 * Some 5 KiB. reader.context points to the witness itself: it must not move while reader is in use.
 */
struct witness {
	struct memory_reader reader; /* reads the target and records it; -E2BIG beyond the bounds */
	const struct memory_reader *target; /* borrowed */
	size_t count;
	size_t used_bytes;
	struct witness_read reads[WITNESS_READS_MAX];
	uint8_t bytes[WITNESS_BYTES_MAX];
};

void witness_init(struct witness *witness, const struct memory_reader *target);

/* Finds a word that was read on its own. */
bool witness_find_u64(const struct witness *witness, uint64_t address, uint64_t *ret_word);

/* Hash of the bytes read, in order, with a seed that the target does not know. */
uint64_t witness_hash(const struct witness *witness, uint64_t seed);

/*
 * Reads everything again, in one go. 0, and the current hash; -EFAULT if a piece is gone, or an
 * error of the reader. count <= WITNESS_READS_MAX, and at most WITNESS_BYTES_MAX in total.
 */
int witness_read_again(const struct memory_reader *target, const struct witness_read *reads,
		       size_t count, uint64_t seed, uint64_t *ret_hash);
