/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * x86-64 machine code: the length and kind of the instructions at a function's entry, as far as
 * they decide where a uprobe can go, and the instructions of an object that refer to a slot of its
 * data. Refuses every instruction that it does not understand for certain. Zydis is used only here
 * and in x86_trace.h. Pure, except that it reads the image, of which it keeps nothing; single
 * thread; does not log.
 *
 * Facts: what the kernel emulates under a uprobe: arch/x86/kernel/uprobes.c (v6.18),
 * branch_setup_xol_ops and push_setup_xol_ops; how compilers reach a thread-local's GOT slot:
 * x86-64 psABI, "TLS code sequences".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/target/elf/elf_image.h"

enum x86_code_kind {
	X86_CODE_PLAIN = 0, /* falls through; writes registers or the stack */
	X86_CODE_PUSH = 1, /* 50..57, also with prefix 41: emulated, like the next four */
	X86_CODE_NOP = 2, /* 90 */
	X86_CODE_JMP = 3, /* e9, eb */
	X86_CODE_CALL = 4, /* e8 */
	X86_CODE_JCC = 5, /* 70..7f, 0f 80..8f */
	X86_CODE_LONG_NOP = 6, /* 0f 1f: falls through; no place for a uprobe */
	X86_CODE_STORE = 7, /* writes memory other than the stack */
	X86_CODE_LEAVE = 8, /* a branch as above, not emulated by the kernel: it has a prefix */
	_X86_CODE_KIND_MAX,
};

struct x86_code {
	enum x86_code_kind kind;
	size_t length_bytes; /* 1..15 */
};

/*
 * Decodes the instruction at the start of code. 0; -EINVAL: neither straight-line code nor a branch
 * as above, not an instruction at all, or cut short by size_bytes.
 */
int x86_code_decode(const uint8_t *code, size_t size_bytes, struct x86_code *ret_code);

/* True for the kinds that a uprobe emulates instead of single-stepping. */
bool x86_code_is_emulated(enum x86_code_kind kind);

/*
 * Stores the virtual addresses of up to limit lea, mov and add instructions that refer to the slot
 * relative to the instruction pointer, in address order. Returns their number, which may exceed
 * limit; 0 on another machine. Scans only the first CODE_SCAN_BYTES_MAX (code_scan.h) of the
 * object's code.
 */
size_t x86_code_find_references(const struct elf_image *image, uint64_t slot,
				uint64_t *ret_addresses, size_t limit);
