/* SPDX-License-Identifier: GPL-2.0-only */
/* Instructions as an assembler writes them, of each class and of its neighbours. */
#include "recorder/target/elf/arm64_code.h"

#include "unit_test.h"

static const struct {
	uint32_t code;
	enum arm64_code_kind kind;
	const char *text;
} instructions[] = {
	{ 0x10000001, ARM64_CODE_ADDRESS, "adr x1, ." },
	{ 0x90000001, ARM64_CODE_ADDRESS, "adrp x1, ." },
	{ 0xf0ffffe1, ARM64_CODE_ADDRESS, "adrp x1, .-4096" },
	{ 0x94000000, ARM64_CODE_CALL, "bl ." },
	{ 0x97ffffff, ARM64_CODE_CALL, "bl .-4" },
	{ 0x14000001, ARM64_CODE_BRANCH, "b .+4" },
	{ 0x17ffffff, ARM64_CODE_BRANCH, "b .-4" },
	{ 0x54000040, ARM64_CODE_BRANCH, "b.eq" },
	{ 0x54ffffed, ARM64_CODE_BRANCH, "b.le" },
	{ 0x34000061, ARM64_CODE_BRANCH, "cbz w1" },
	{ 0xb4000061, ARM64_CODE_BRANCH, "cbz x1" },
	{ 0xb5000061, ARM64_CODE_BRANCH, "cbnz x1" },
	{ 0x36180040, ARM64_CODE_BRANCH, "tbz w0, #3" },
	{ 0xb7180040, ARM64_CODE_BRANCH, "tbnz x0, #35" },

	{ 0x91000420, ARM64_CODE_PLAIN, "add x0, x1, #1" },
	{ 0xf1000420, ARM64_CODE_PLAIN, "subs x0, x1, #1" },
	{ 0x92400020, ARM64_CODE_PLAIN, "and x0, x1, #1" },
	{ 0xd2800020, ARM64_CODE_PLAIN, "mov x0, #1" },
	{ 0xd3410c20, ARM64_CODE_PLAIN, "ubfx x0, x1, #1, #3" },
	{ 0x93c20420, ARM64_CODE_PLAIN, "extr x0, x1, x2, #1" },
	{ 0x8a020020, ARM64_CODE_PLAIN, "and x0, x1, x2" },
	{ 0x8b020020, ARM64_CODE_PLAIN, "add x0, x1, x2" },
	{ 0x9a821020, ARM64_CODE_PLAIN, "csel x0, x1, x2, ne" },
	{ 0x9b027c20, ARM64_CODE_PLAIN, "mul x0, x1, x2" },
	{ 0x1e622820, ARM64_CODE_PLAIN, "fadd d0, d1, d2" },
	{ 0x4ee28420, ARM64_CODE_PLAIN, "add v0.2d, v1.2d, v2.2d" },
	{ 0x6e221c20, ARM64_CODE_PLAIN, "eor v0.16b, v1.16b, v2.16b" },
	{ 0xd503201f, ARM64_CODE_PLAIN, "nop" },
	{ 0xd503245f, ARM64_CODE_PLAIN, "bti c" },
	{ 0xd503233f, ARM64_CODE_PLAIN, "paciasp" },
	{ 0xd503237f, ARM64_CODE_PLAIN, "pacibsp" },
	{ 0xd53bd042, ARM64_CODE_PLAIN, "mrs x2, tpidr_el0" },

	{ 0x58000040, ARM64_CODE_PLAIN, "ldr x0, .+8" },
	{ 0x1c000040, ARM64_CODE_PLAIN, "ldr s0, .+8" },
	{ 0xf9400001, ARM64_CODE_PLAIN, "ldr x1, [x0]" },
	{ 0x39400020, ARM64_CODE_PLAIN, "ldrb w0, [x1]" },
	{ 0x79400020, ARM64_CODE_PLAIN, "ldrh w0, [x1]" },
	{ 0xb9800020, ARM64_CODE_PLAIN, "ldrsw x0, [x1]" },
	{ 0x39c00020, ARM64_CODE_PLAIN, "ldrsb w0, [x1]" },
	{ 0x3dc00020, ARM64_CODE_PLAIN, "ldr q0, [x1]" },
	{ 0xfd400020, ARM64_CODE_PLAIN, "ldr d0, [x1]" },
	{ 0xf8408001, ARM64_CODE_PLAIN, "ldur x1, [x0, #8]" },
	{ 0xf8408c20, ARM64_CODE_PLAIN, "ldr x0, [x1, #8]!" },
	{ 0xf8626820, ARM64_CODE_PLAIN, "ldr x0, [x1, x2]" },
	{ 0xa9400440, ARM64_CODE_PLAIN, "ldp x0, x1, [x2]" },
	{ 0xa8c10440, ARM64_CODE_PLAIN, "ldp x0, x1, [x2], #16" },
	{ 0xad400440, ARM64_CODE_PLAIN, "ldp q0, q1, [x2]" },
	{ 0xf9800020, ARM64_CODE_PLAIN, "prfm pldl1keep, [x1]" },

	{ 0xf90007e0, ARM64_CODE_PLAIN, "str x0, [sp, #8]" },
	{ 0x390003e0, ARM64_CODE_PLAIN, "strb w0, [sp]" },
	{ 0x3d8003e0, ARM64_CODE_PLAIN, "str q0, [sp]" },
	{ 0xf81f83e0, ARM64_CODE_PLAIN, "stur x0, [sp, #-8]" },
	{ 0xf81f0fe0, ARM64_CODE_PLAIN, "str x0, [sp, #-16]!" },
	{ 0xa9bf7bfd, ARM64_CODE_PLAIN, "stp x29, x30, [sp, #-16]!" },
	{ 0xad0107e0, ARM64_CODE_PLAIN, "stp q0, q1, [sp, #32]" },
	{ 0xf82067e0, ARM64_CODE_OTHER, "ldraa x0, [sp, #48]" },

	{ 0xf9000020, ARM64_CODE_STORE, "str x0, [x1]" },
	{ 0xf90003c0, ARM64_CODE_STORE, "str x0, [x30]" },
	{ 0xb9000020, ARM64_CODE_STORE, "str w0, [x1]" },
	{ 0x79000020, ARM64_CODE_STORE, "strh w0, [x1]" },
	{ 0x39000020, ARM64_CODE_STORE, "strb w0, [x1]" },
	{ 0xfd000020, ARM64_CODE_STORE, "str d0, [x1]" },
	{ 0xbd000020, ARM64_CODE_STORE, "str s0, [x1]" },
	{ 0x3d800020, ARM64_CODE_STORE, "str q0, [x1]" },
	{ 0xf8008020, ARM64_CODE_STORE, "stur x0, [x1, #8]" },
	{ 0xf8008420, ARM64_CODE_STORE, "str x0, [x1], #8" },
	{ 0xf8008c20, ARM64_CODE_STORE, "str x0, [x1, #8]!" },
	{ 0x3c808020, ARM64_CODE_STORE, "stur q0, [x1, #8]" },
	{ 0xf8226820, ARM64_CODE_STORE, "str x0, [x1, x2]" },
	{ 0x38226820, ARM64_CODE_STORE, "strb w0, [x1, x2]" },
	{ 0x3ca26820, ARM64_CODE_STORE, "str q0, [x1, x2]" },
	{ 0xa9000440, ARM64_CODE_STORE, "stp x0, x1, [x2]" },
	{ 0xa8810440, ARM64_CODE_STORE, "stp x0, x1, [x2], #16" },
	{ 0xa8000440, ARM64_CODE_STORE, "stnp x0, x1, [x2]" },
	{ 0x29000440, ARM64_CODE_STORE, "stp w0, w1, [x2]" },
	{ 0xad000440, ARM64_CODE_STORE, "stp q0, q1, [x2]" },
	{ 0x6d000440, ARM64_CODE_STORE, "stp d0, d1, [x2]" },

	{ 0xd65f03c0, ARM64_CODE_OTHER, "ret" },
	{ 0xd61f0000, ARM64_CODE_OTHER, "br x0" },
	{ 0xd63f0000, ARM64_CODE_OTHER, "blr x0" },
	{ 0xd4000001, ARM64_CODE_OTHER, "svc #0" },
	{ 0xd4200000, ARM64_CODE_OTHER, "brk #0" },
	{ 0x00000000, ARM64_CODE_OTHER, "udf #0" },
	{ 0x54000050, ARM64_CODE_OTHER, "bc.eq" },
	{ 0xd5033fdf, ARM64_CODE_OTHER, "isb" },
	{ 0xd5033bbf, ARM64_CODE_OTHER, "dmb ish" },
	{ 0xd51bd040, ARM64_CODE_OTHER, "msr tpidr_el0, x0" },
	{ 0xc85f7c20, ARM64_CODE_OTHER, "ldxr x0, [x1]" },
	{ 0xc8007c20, ARM64_CODE_OTHER, "stxr w0, x0, [x1]" },
	{ 0xc8dffc20, ARM64_CODE_OTHER, "ldar x0, [x1]" },
	{ 0xc89ffc20, ARM64_CODE_OTHER, "stlr x0, [x1]" },
	{ 0xf8200041, ARM64_CODE_OTHER, "ldadd x0, x1, [x2]" },
	{ 0xf8208020, ARM64_CODE_OTHER, "swp x0, x0, [x1]" },
	{ 0x4c007020, ARM64_CODE_OTHER, "st1 {v0.16b}, [x1]" },
	{ 0x19000020, ARM64_CODE_OTHER, "stlurb w0, [x1]" },
};

TEST(arm64_code_decodes_kind_of_each_instruction)
{
	for (size_t i = 0; i < sizeof(instructions) / sizeof(*instructions); i++) {
		enum arm64_code_kind kind = arm64_code_decode(instructions[i].code);

		if (kind != instructions[i].kind)
			fail_msg("%s: %d, not %d", instructions[i].text, kind,
				 instructions[i].kind);
	}
}
