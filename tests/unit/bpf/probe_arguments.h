/* SPDX-License-Identifier: GPL-2.0-only */
/* Registers at a probe, for a test that has included kernel_views.h (native_kernel.h). */
#pragma once

/* Sets the value that uprobe_argument() reads. Source: linux/ptrace.h, struct pt_regs. */
static inline void set_argument(struct uprobe_registers *registers, int number, uint64_t value)
{
#ifdef __TARGET_ARCH_arm64
	registers->x[number - 1] = value;
#else
	registers->general[15 - number] = value; /* rdi, rsi, rdx */
#endif
}
