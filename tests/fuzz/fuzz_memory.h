/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A target's memory that changes while it is read: two images of the same addresses, which follow
 * each other in the input, and a bit for each read that says which one it sees. The addresses are
 * small numbers, so that the fuzzer finds pointers by itself.
 */
#pragma once

#include <errno.h>

#include "fuzz.h"
#include "recorder/target/proc/memory_reader.h"

/* The lowest address that is believed (ruby_object.h). */
#define FUZZ_MEMORY_BASE UINT64_C(0x10000)

struct fuzz_memory {
	const uint8_t *images[2];
	size_t size_bytes; /* of each */
	uint64_t choices; /* bit n % 64: the image of read n */
	uint64_t reads;
};

/* Takes all that is left of the input. */
static inline void fuzz_memory_init(struct fuzz_memory *memory, struct fuzz_input *input)
{
	memory->choices = fuzz_take_u64(input);
	memory->reads = 0;
	/* Without changes there is one image, twice as large. */
	memory->size_bytes = memory->choices ? input->size_bytes / 2 : input->size_bytes;
	memory->images[0] = input->data;
	memory->images[1] = input->data + input->size_bytes - memory->size_bytes;
}

static inline int fuzz_memory_read(struct fuzz_memory *memory, uint64_t address, void *buffer,
				   size_t size_bytes)
{
	uint64_t offset = address - FUZZ_MEMORY_BASE;
	unsigned int image = memory->choices >> memory->reads++ % 64 & 1;

	if (offset > memory->size_bytes || size_bytes > memory->size_bytes - offset)
		return -EFAULT;
	if (size_bytes > 0)
		memcpy(buffer, memory->images[image] + offset, size_bytes);
	return 0;
}

static inline int fuzz_memory_reader_read(const struct memory_reader *reader, uint64_t address,
					  void *buffer, size_t size_bytes)
{
	return fuzz_memory_read((struct fuzz_memory *)(uintptr_t)reader->context, address, buffer,
				size_bytes);
}

static inline struct memory_reader fuzz_memory_reader(struct fuzz_memory *memory)
{
	return (struct memory_reader){ .read = fuzz_memory_reader_read, .context = memory };
}
