/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of system calls, from the kernel headers that this was built with (linux-libc-dev):
 * x86-64's own, x32's and i386's; arm64's own. Pure.
 */
#pragma once

#include <stdint.h>

enum {
	SYSCALL_NAME_BYTES = 48
};

/*
 * The name of a call (correlator/syscall_counts.h): "read"; "syscall_999" if it has no name here;
 * "invalid" if the number is no call's.
 */
void syscall_name(uint32_t call, char ret_name[static SYSCALL_NAME_BYTES]);

/* The table of its number: "x32", "i386", "arm"; NULL: the machine's own. */
const char *syscall_abi_name(uint32_t call);
