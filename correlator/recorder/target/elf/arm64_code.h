/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * arm64 machine code, as far as a uprobe's place depends on it: the kind of the instructions at a
 * function's entry, and those of an object that refer to a slot of its data. What is not surely
 * understood is refused. Pure but for the image that is read, of which nothing is kept; single
 * thread; does not log.
 *
 * Facts: what the kernel simulates under a uprobe instead of single-stepping it, on all versions
 * since v4.10: arm_probe_decode_insn(), arch/arm64/kernel/probes/decode-insn.c; encodings: Arm
 * Architecture Reference Manual, C4.1; how compilers reach a thread-local's GOT slot: AArch64 ELF
 * psABI, "Thread Local Storage".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "recorder/target/elf/elf_image.h"

enum {
	ARM64_CODE_BYTES = 4, /* of each instruction */
};

enum arm64_code_kind {
	ARM64_CODE_PLAIN = 0, /* goes on to the next, and writes registers or the stack */
	ARM64_CODE_ADDRESS = 1, /* adr, adrp: simulated, and goes on */
	ARM64_CODE_BRANCH = 2, /* b, b.cond, cbz, cbnz, tbz, tbnz: simulated */
	ARM64_CODE_CALL = 3, /* bl: simulated */
	ARM64_CODE_STORE = 4, /* writes memory that is not the stack's */
	ARM64_CODE_OTHER = 5, /* leaves straight-line code, or is not understood */
};

enum arm64_code_kind arm64_code_decode(uint32_t instruction);

/*
 * Stores the virtual address of each add and ldr that refers to the slot by its page, which an adrp
 * before it has put into a register, by address, at most limit of them. Returns how many there are,
 * which may be more; where another value has come into the register meanwhile, one too many. None
 * on another machine. Of an object's code the first CODE_SCAN_BYTES_MAX (code_scan.h) are read.
 */
size_t arm64_code_find_references(const struct elf_image *image, uint64_t slot,
				  uint64_t *ret_addresses, size_t limit);
