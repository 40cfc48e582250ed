/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>

#include "unit_test.h"

#include "recorder/target/elf/x86_code.h"

enum {
	KINDS = _X86_CODE_KIND_MAX,
	CODE_BYTES = 16
};

struct sample {
	const char *text;
	uint8_t code[CODE_BYTES];
	size_t length_bytes;
	enum x86_code_kind kind;
};

static const struct sample samples[] = {
	{ "push %rbp", { 0x55 }, 1, X86_CODE_PUSH },
	{ "push %r15", { 0x41, 0x57 }, 2, X86_CODE_PUSH },
	{ "push %ax", { 0x66, 0x50 }, 2, X86_CODE_PLAIN },
	{ "push $1", { 0x6a, 0x01 }, 2, X86_CODE_PLAIN },
	{ "pop %r12", { 0x41, 0x5c }, 2, X86_CODE_PLAIN },
	{ "nop", { 0x90 }, 1, X86_CODE_NOP },
	{ "xchg %rax, %r8", { 0x49, 0x90 }, 2, X86_CODE_PLAIN },
	{ "endbr64", { 0xf3, 0x0f, 0x1e, 0xfa }, 4, X86_CODE_PLAIN },
	{ "nopl 0(%rax,%rax)", { 0x0f, 0x1f, 0x44, 0, 0 }, 5, X86_CODE_LONG_NOP },
	{ "nopw cs:0(%rax,%rax)",
	  { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 },
	  10,
	  X86_CODE_LONG_NOP },
	{ "mov %rsp, %rbp", { 0x48, 0x89, 0xe5 }, 3, X86_CODE_PLAIN },
	{ "mov %rdi, 8(%rsp)", { 0x48, 0x89, 0x7c, 0x24, 8 }, 5, X86_CODE_PLAIN },
	{ "mov %rdi, (%r12)", { 0x49, 0x89, 0x3c, 0x24 }, 4, X86_CODE_STORE },
	{ "mov %rbx, (%rax)", { 0x48, 0x89, 0x18 }, 3, X86_CODE_STORE },
	{ "mov %rdi, %fs:(%rsp)", { 0x64, 0x48, 0x89, 0x3c, 0x24 }, 5, X86_CODE_STORE },
	{ "movq $0, (%rax)", { 0x48, 0xc7, 0x00, 0, 0, 0, 0 }, 7, X86_CODE_STORE },
	{ "mov %fs:0, %rax", { 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0 }, 9, X86_CODE_PLAIN },
	{ "lea 0(%rip), %rdi", { 0x48, 0x8d, 0x3d, 0, 0, 0, 0 }, 7, X86_CODE_PLAIN },
	{ "data16 lea 0(%rip), %rdi", { 0x66, 0x48, 0x8d, 0x3d, 0, 0, 0, 0 }, 8, X86_CODE_PLAIN },
	{ "sub $24, %rsp", { 0x48, 0x83, 0xec, 24 }, 4, X86_CODE_PLAIN },
	{ "sub $0x118, %rsp", { 0x48, 0x81, 0xec, 0x18, 1, 0, 0 }, 7, X86_CODE_PLAIN },
	{ "data16 rex.W add $0x118, %rsp",
	  { 0x66, 0x48, 0x81, 0xc4, 0x18, 1, 0, 0 },
	  8,
	  X86_CODE_PLAIN },
	{ "movq (%rdi), %xmm0", { 0xf3, 0x0f, 0x7e, 0x07 }, 4, X86_CODE_PLAIN },
	{ "addl $1, (%rdi)", { 0x83, 0x07, 0x01 }, 3, X86_CODE_STORE },
	{ "cmpl $1, (%rdi)", { 0x83, 0x3f, 0x01 }, 3, X86_CODE_PLAIN },
	{ "cmpw $1, (%rdi)", { 0x66, 0x81, 0x3f, 1, 0 }, 5, X86_CODE_PLAIN },
	{ "test $7, %dil", { 0x40, 0xf6, 0xc7, 7 }, 4, X86_CODE_PLAIN },
	{ "testq $7, (%rdi)", { 0x48, 0xf7, 0x07, 7, 0, 0, 0 }, 7, X86_CODE_PLAIN },
	{ "neg %rax", { 0x48, 0xf7, 0xd8 }, 3, X86_CODE_PLAIN },
	{ "movabs $0, %rax", { 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0 }, 10, X86_CODE_PLAIN },
	{ "mov $0, %eax", { 0xb8, 0, 0, 0, 0 }, 5, X86_CODE_PLAIN },
	{ "movaps %xmm0, 16(%rsp)", { 0x0f, 0x29, 0x44, 0x24, 16 }, 5, X86_CODE_PLAIN },
	{ "movups %xmm0, (%rdi)", { 0x0f, 0x11, 0x07 }, 3, X86_CODE_STORE },
	{ "maskmovq %mm1, %mm0", { 0x0f, 0xf7, 0xc1 }, 3, X86_CODE_STORE }, /* to (%rdi) */
	{ "jmp short", { 0xeb, 0 }, 2, X86_CODE_JMP },
	{ "jmp", { 0xe9, 0, 0, 0, 0 }, 5, X86_CODE_JMP },
	{ "call", { 0xe8, 0, 0, 0, 0 }, 5, X86_CODE_CALL },
	{ "rex.W call", { 0x48, 0xe8, 0, 0, 0, 0 }, 6, X86_CODE_LEAVE },
	{ "bnd jmp", { 0xf2, 0xe9, 0, 0, 0, 0 }, 6, X86_CODE_LEAVE },
	{ "je short", { 0x74, 0 }, 2, X86_CODE_JCC },
	{ "jne", { 0x0f, 0x85, 0, 0, 0, 0 }, 6, X86_CODE_JCC },
};

TEST(x86_code_decodes_length_and_kind_of_common_instructions)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *sample = &samples[i];
		struct x86_code instruction;

		if (x86_code_decode(sample->code, CODE_BYTES, &instruction) < 0)
			fail_msg("%s: not known", sample->text);
		if (instruction.length_bytes != sample->length_bytes ||
		    instruction.kind != sample->kind)
			fail_msg("%s: %zu bytes of kind %d", sample->text, instruction.length_bytes,
				 instruction.kind);
	}
}

TEST(x86_code_rejects_truncated_instruction)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		for (size_t cut = 0; cut < samples[i].length_bytes; cut++) {
			struct x86_code instruction;
			uint8_t *part = malloc(cut + 1);
			int r;

			assert_non_null(part);
			for (size_t j = 0; j < cut; j++)
				part[j] = samples[i].code[j];
			r = x86_code_decode(part, cut, &instruction);
			free(part);
			if (r != -EINVAL)
				fail_msg("%s: known by %zu bytes", samples[i].text, cut);
		}
	}
}

TEST(x86_code_rejects_instructions_outside_its_table)
{
	static const uint8_t codes[][CODE_BYTES] = {
		{ 0xc3 }, /* ret */
		{ 0xff, 0xe0 }, /* jmp *%rax */
		{ 0xff, 0x15, 0, 0, 0, 0 }, /* call *0(%rip) */
		{ 0x66, 0x66, 0x48, 0xe8 }, /* data16 data16 rex.W call */
		{ 0xc5, 0xf8, 0x77 }, /* vzeroupper */
		{ 0x0f, 0x05 }, /* syscall */
		{ 0xf0, 0x48, 0x0f, 0xb1, 0x17 }, /* lock cmpxchg */
		{ 0xcc },
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct x86_code instruction;

		assert_int_equal(x86_code_decode(codes[i], CODE_BYTES, &instruction), -EINVAL);
	}
}

TEST(x86_code_rejects_endless_prefixes)
{
	uint8_t code[64];
	struct x86_code instruction;

	for (size_t i = 0; i < sizeof(code); i++)
		code[i] = 0x66;
	assert_int_equal(x86_code_decode(code, sizeof(code), &instruction), -EINVAL);
}

TEST(x86_code_emulates_only_five_kinds)
{
	size_t count = 0;

	for (int kind = 0; kind < KINDS; kind++)
		count += x86_code_is_emulated((enum x86_code_kind)kind);
	assert_int_equal(count, 5);
	assert_false(x86_code_is_emulated(X86_CODE_PLAIN));
	assert_false(x86_code_is_emulated(X86_CODE_LONG_NOP));
	assert_false(x86_code_is_emulated(X86_CODE_LEAVE));
}
