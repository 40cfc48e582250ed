/*
 * Instructions of an x86-64 object that refer to a slot of its data, found in the bytes of its
 * code: lea and mov relative to the instruction pointer, as compilers reach a thread-local's GOT
 * slot by (x86-64 psABI, "TLS code sequences"). Single thread; does not log.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "target/elf/elf_image.h"

enum {
	CODE_REFERENCE_SCAN_BYTES_MAX = 16 * 1024 * 1024
};

/*
 * Stores the virtual address of each such instruction, by address, at most limit of them. Returns
 * how many there are, which may be more.
 */
size_t code_reference_find(const struct elf_image *image, uint64_t slot, uint64_t *ret_addresses,
			   size_t limit);
