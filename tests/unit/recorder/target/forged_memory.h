/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of a process that does not exist: one block at a plausible address, which tests fill with
 * what a Ruby, or somebody who means harm, would have there. Reads outside of it fault.
 */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/target/proc/memory_reader.h"

#define FORGED_BASE UINT64_C(0x7f5500000000)

enum {
	FORGED_BYTES = 1 << 20
};

struct forged_memory {
	uint8_t bytes[FORGED_BYTES];
	size_t used_bytes;
	uint64_t hole; /* address of a page that is not there; 0 = none */
	uint64_t zero_once; /* the next read from here gives zeros, as of freed memory; 0 = none */
};

static inline int forged_read(const struct memory_reader *reader, uint64_t address, void *buffer,
			      size_t size_bytes)
{
	struct forged_memory *memory = (struct forged_memory *)reader->context;
	uint64_t offset = address - FORGED_BASE;

	if (address < FORGED_BASE || offset > FORGED_BYTES || size_bytes > FORGED_BYTES - offset)
		return -EFAULT;
	if (memory->hole && address < memory->hole + 4096 && address + size_bytes > memory->hole)
		return -EFAULT;
	memcpy(buffer, memory->bytes + offset, size_bytes);
	if (memory->zero_once && address == memory->zero_once) {
		memset(buffer, 0, size_bytes);
		memory->zero_once = 0;
	}
	return 0;
}

static inline struct memory_reader forged_reader(struct forged_memory *memory)
{
	return (struct memory_reader){ .read = forged_read, .context = memory };
}

/* Zeroed bytes in the block; 16-aligned, as malloc and the heap's pages are. */
static inline uint64_t forged_take(struct forged_memory *memory, size_t size_bytes)
{
	uint64_t address = FORGED_BASE + memory->used_bytes;

	memory->used_bytes += (size_bytes + 15) & ~(size_t)15;
	if (memory->used_bytes > FORGED_BYTES)
		abort();
	return address;
}

static inline void forged_write(struct forged_memory *memory, uint64_t address, const void *bytes,
				size_t size_bytes)
{
	memcpy(memory->bytes + (address - FORGED_BASE), bytes, size_bytes);
}

static inline void forged_write_u64(struct forged_memory *memory, uint64_t address, uint64_t value)
{
	forged_write(memory, address, &value, sizeof(value));
}

static inline uint64_t forged_words(struct forged_memory *memory, const uint64_t *words,
				    size_t count)
{
	uint64_t address = forged_take(memory, count * sizeof(*words));

	forged_write(memory, address, words, count * sizeof(*words));
	return address;
}
