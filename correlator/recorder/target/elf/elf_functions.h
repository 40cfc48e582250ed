/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of an ELF file by address: from .symtab, else from .dynsym. The file is hostile:
 * the number of functions and the length of their names are bounded, and a name is given only to
 * addresses between a function's start and its stated end. Keeps nothing of the file. Not by libdw:
 * it needs the whole file, and trusts it, so it could only be used in the agent (unwind_rule.h).
 * Single thread; does not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/target/elf/elf_image.h"

struct elf_functions;

enum {
	/* Per symbol table: one with more is ignored entirely. Sorting takes some 100 ms. */
	ELF_FUNCTIONS_MAX = 262144,
	ELF_FUNCTION_NAME_BYTES = 512, /* with the NUL; functions with longer names are left out */
	ELF_FUNCTIONS_TEXT_BYTES_MAX = 16 * 1024 * 1024, /* of all names; the rest is left out */
};

/*
 * Returns 0, also for a file without functions, or -ENOMEM. Frees what was read of the file
 * (elf_image_rest()).
 */
int elf_functions_read(const struct elf_image *image, struct elf_functions **ret_functions);
void elf_functions_free(struct elf_functions *functions);
DEFINE_CLEANUP(struct elf_functions *, elf_functions_free);

/* True if they come from .symtab, so that the file has no others. */
bool elf_functions_are_all(const struct elf_functions *functions);
size_t elf_functions_count(const struct elf_functions *functions);
size_t elf_functions_size_bytes(const struct elf_functions *functions); /* memory */

/*
 * The name of the function at a virtual address; valid as long as functions. If several start at
 * one address, the one with the fewest leading underscores, then the most public, then the first in
 * alphabetical order. NULL: no function is known to cover the address.
 */
const char *elf_functions_find(const struct elf_functions *functions, uint64_t virtual_address);
