/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of an ELF file by their addresses: of .symtab, else of .dynsym. The file is
 * hostile: how many there are, and how long their names, is bounded, and only what lies between a
 * function's start and its stated end has its name. Holds nothing of the file. Single thread; does
 * not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/target/elf/elf_image.h"

struct elf_functions;

enum {
	/* Of one file; of one with more none is known. Some 100 ms to sort. */
	ELF_FUNCTIONS_MAX = 262144,
	ELF_FUNCTION_NAME_BYTES = 512, /* with the NUL; those of longer names are left out */
	ELF_FUNCTIONS_TEXT_BYTES_MAX = 16 * 1024 * 1024, /* of all names; what is over, too */
};

/* 0, also of a file that tells of none; -ENOMEM. What was read of the file is given back. */
int elf_functions_read(const struct elf_image *image, struct elf_functions **ret_functions);
void elf_functions_free(struct elf_functions *functions);
DEFINE_CLEANUP(struct elf_functions *, elf_functions_free);

/* Whether they are those of .symtab, so that there are no others. */
bool elf_functions_are_all(const struct elf_functions *functions);
size_t elf_functions_count(const struct elf_functions *functions);
size_t elf_functions_size_bytes(const struct elf_functions *functions); /* of memory */

/*
 * The name of what has a virtual address of the file, as long as functions are; of several, the
 * one with the fewest leading underscores, then the most public, then the first by the alphabet.
 * NULL: nothing says that it is its.
 */
const char *elf_functions_find(const struct elf_functions *functions, uint64_t virtual_address);
