/*
 * The length and kind of one x86-64 instruction, for the straight-line code at a function's entry.
 * Knows what compilers put there and refuses all else. Pure, any thread.
 * Facts: Intel SDM volume 2, chapter 2 and appendix A; what the kernel emulates under a uprobe:
 * arch/x86/kernel/uprobes.c (v6.18), branch_setup_xol_ops and push_setup_xol_ops.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_instruction_kind {
	X86_INSTRUCTION_PLAIN = 0, /* goes on to the next, and writes registers or the stack */
	X86_INSTRUCTION_PUSH = 1, /* 50..57, with 41 too: emulated, as the next four */
	X86_INSTRUCTION_NOP = 2, /* 90 */
	X86_INSTRUCTION_JMP = 3, /* e9, eb */
	X86_INSTRUCTION_CALL = 4, /* e8 */
	X86_INSTRUCTION_JCC = 5, /* 70..7f, 0f 80..8f */
	X86_INSTRUCTION_LONG_NOP = 6, /* 0f 1f: goes on, and no place for a uprobe */
	X86_INSTRUCTION_STORE = 7, /* writes memory that is not the stack's */
	X86_INSTRUCTION_LEAVE = 8, /* goes elsewhere, and the kernel does not emulate it */
	_X86_INSTRUCTION_KIND_MAX,
};

struct x86_instruction {
	enum x86_instruction_kind kind;
	size_t length_bytes; /* 1..15 */
};

/* 0, or -EINVAL: not an instruction that is known, or cut short by size_bytes. */
int x86_instruction_decode(const uint8_t *code, size_t size_bytes,
			   struct x86_instruction *ret_instruction);

/* True for the kinds that a uprobe emulates instead of single-stepping. */
bool x86_instruction_is_emulated(enum x86_instruction_kind kind);
