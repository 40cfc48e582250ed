/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * arm64 machine code, as far as it decides where a uprobe can go: the kind of the instructions at a
 * function's entry, and the instructions of an object that refer to a slot of its data. Refuses
 * every instruction that it does not understand for certain. Pure, except that it reads the image,
 * of which it keeps nothing; single thread; does not log.
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
	ARM64_CODE_BYTES = 4, /* size of an instruction */
};

enum arm64_code_kind {
	ARM64_CODE_PLAIN = 0, /* falls through; writes registers or the stack */
	ARM64_CODE_ADDRESS = 1, /* adr, adrp: simulated, falls through */
	ARM64_CODE_BRANCH = 2, /* b, b.cond, cbz, cbnz, tbz, tbnz: simulated */
	ARM64_CODE_CALL = 3, /* bl: simulated */
	ARM64_CODE_STORE = 4, /* writes memory other than the stack */
	ARM64_CODE_OTHER = 5, /* leaves straight-line code, or is not understood */
};

enum arm64_code_kind arm64_code_decode(uint32_t instruction);

/*
 * Stores the virtual addresses of up to limit add and ldr instructions that refer to the slot
 * through its page, which an earlier adrp has put into a register, in address order. Returns their
 * number, which may exceed limit and counts an instruction too many if the register was overwritten
 * in between. Returns 0 on another machine. Scans only the first CODE_SCAN_BYTES_MAX (code_scan.h)
 * of the object's code.
 */
size_t arm64_code_find_references(const struct elf_image *image, uint64_t slot,
				  uint64_t *ret_addresses, size_t limit);
