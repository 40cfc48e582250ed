/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * x86-64 machine code: the length and kind of the instructions at a function's entry, as far as a
 * uprobe's place depends on them, and the instructions of an object that refer to a slot of its
 * data. What is not surely understood is refused. With x86_trace.h the only home of Zydis. Pure but
 * for the image that is read, of which nothing is kept; single thread; does not log.
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
	X86_CODE_PLAIN = 0, /* goes on to the next, and writes registers or the stack */
	X86_CODE_PUSH = 1, /* 50..57, with 41 too: emulated, as the next four */
	X86_CODE_NOP = 2, /* 90 */
	X86_CODE_JMP = 3, /* e9, eb */
	X86_CODE_CALL = 4, /* e8 */
	X86_CODE_JCC = 5, /* 70..7f, 0f 80..8f */
	X86_CODE_LONG_NOP = 6, /* 0f 1f: goes on, and no place for a uprobe */
	X86_CODE_STORE = 7, /* writes memory that is not the stack's */
	X86_CODE_LEAVE =
		8, /* a branch as above that the kernel does not emulate: it has a prefix */
	_X86_CODE_KIND_MAX,
};

struct x86_code {
	enum x86_code_kind kind;
	size_t length_bytes; /* 1..15 */
};

/*
 * The instruction at the start of code. 0; -EINVAL: not an instruction of straight-line code, not
 * one at all, or cut short by size_bytes.
 */
int x86_code_decode(const uint8_t *code, size_t size_bytes, struct x86_code *ret_code);

/* True for the kinds that a uprobe emulates instead of single-stepping. */
bool x86_code_is_emulated(enum x86_code_kind kind);

/*
 * Stores the virtual address of each lea, mov and add relative to the instruction pointer that
 * refers to the slot, by address, at most limit of them. Returns how many there are, which may be
 * more. None on another machine. Of an object's code the first CODE_SCAN_BYTES_MAX (code_scan.h)
 * are read.
 */
size_t x86_code_find_references(const struct elf_image *image, uint64_t slot,
				uint64_t *ret_addresses, size_t limit);
