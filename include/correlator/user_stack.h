/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread's registers in user mode, and the top of its stack: what the kernel side sends of native
 * callers, which userspace unwinds.
 */
#pragma once

#include <linux/types.h>

enum {
/*
 * The start of struct pt_regs, in its order: on x86-64 all of it
 * (arch/x86/include/asm/ptrace.h, v6.18), on arm64 struct user_pt_regs
 * (arch/arm64/include/uapi/asm/ptrace.h).
 */
#ifdef __TARGET_ARCH_arm64
	USER_REGISTERS = 34,
#elif defined(__aarch64__)
	USER_REGISTERS = 34,
#else
	USER_REGISTERS = 21,
#endif
	/*
	 * Below the stack pointer, where functions may keep data, too (System V ABI, AMD64, 3.2.2):
	 * OpenSSL's SHA-512 has its caller's frame there. Also copied where there is none.
	 */
	USER_RED_ZONE_BYTES = 128,
	USER_STACK_PAGE_BYTES = 4096,
	USER_STACK_PAGES = 4,
	USER_STACK_BYTES_MAX = USER_STACK_PAGES * USER_STACK_PAGE_BYTES,
};

struct user_stack {
	__u64 registers[USER_REGISTERS];
	/* From USER_RED_ZONE_BYTES below the stack pointer on: the rest of that page, and the next
	 * three, up to the first that cannot be read; 0 = none. */
	__u32 size_bytes;
	__u32 reserved;
	__u8 bytes[USER_STACK_BYTES_MAX];
};
