/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/syscall_names.h"

#include <stddef.h>
#include <stdio.h>

#include <correlator/syscall_counts.h>

/* Made by syscall_names.cmake; those of other machines are empty. */
#define SYSCALL_NAME(number, name) [number] = name,
static const char *const names[_SYSCALL_ABI_MAX][SYSCALL_NUMBERS] = {
	[SYSCALL_ABI_NATIVE] = {
#include "syscalls/native.h"
	},
	[SYSCALL_ABI_X32] = {
#include "syscalls/x32.h"
	},
	[SYSCALL_ABI_32] = {
#include "syscalls/32.h"
	},
};
#undef SYSCALL_NAME

#ifdef __x86_64__
#define ABI_32_NAME "i386"
#else
#define ABI_32_NAME "arm"
#endif

void syscall_name(uint32_t call, char ret_name[static SYSCALL_NAME_BYTES])
{
	uint32_t abi = syscall_call_abi(call), number = syscall_call_number(call);
	const char *name = NULL;

	if (abi < _SYSCALL_ABI_MAX && number < SYSCALL_NUMBERS)
		name = names[abi][number];
	if (name)
		(void)snprintf(ret_name, SYSCALL_NAME_BYTES, "%s", name);
	else if (number < SYSCALL_NUMBERS)
		(void)snprintf(ret_name, SYSCALL_NAME_BYTES, "syscall_%u", number);
	else
		(void)snprintf(ret_name, SYSCALL_NAME_BYTES, "invalid");
}

const char *syscall_abi_name(uint32_t call)
{
	static const char *const abi_names[_SYSCALL_ABI_MAX] = {
		[SYSCALL_ABI_X32] = "x32", [SYSCALL_ABI_32] = ABI_32_NAME
	};
	uint32_t abi = syscall_call_abi(call);

	return abi < _SYSCALL_ABI_MAX ? abi_names[abi] : NULL;
}
