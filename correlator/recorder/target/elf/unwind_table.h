/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds where functions begin in an ELF file without symbols, by .eh_frame_hdr, which the linker
 * emits for exceptions and strip(1) leaves. Facts: LSB 5.0 core, 10.6.2; DWARF pointer encodings
 * there, 10.5.1. Bounded: the file is hostile. Single thread; does not log.
 */
#pragma once

#include <stdint.h>

#include "recorder/target/elf/elf_image.h"

/*
 * Stores the first address of the function that contains virtual_address, by the table entry that
 * covers it. 0; -ENOENT: no table of the usual encoding (a sorted one of relative 4-byte pairs), or
 * no entry covers it.
 */
int unwind_table_find(const struct elf_image *image, uint64_t virtual_address,
		      uint64_t *ret_function);
