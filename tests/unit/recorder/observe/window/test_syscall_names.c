/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "unit_test.h"

#include <correlator/syscall_counts.h>

#include "recorder/observe/window/syscall_names.h"

static uint32_t call_of(uint64_t number, uint32_t is_32_bit)
{
	return syscall_call(number, 1, is_32_bit);
}

static void expect(uint32_t call, const char *wanted)
{
	char name[SYSCALL_NAME_BYTES];

	syscall_name(call, name);
	assert_string_equal(name, wanted);
}

TEST(syscall_names_match_native_headers)
{
	expect(call_of(SYS_read, 0), "read");
	expect(call_of(SYS_getppid, 0), "getppid");
	expect(call_of(SYS_newfstatat, 0), "newfstatat");
	expect(call_of(SYS_statx, 0), "statx");
	expect(call_of(SYS_clone3, 0), "clone3");
	expect(call_of(SYS_restart_syscall, 0), "restart_syscall");
	assert_null(syscall_abi_name(call_of(SYS_read, 0)));
}

TEST(syscall_names_fall_back_to_number)
{
	expect(call_of(SYSCALL_NUMBERS - 1, 0), "syscall_1023");
	expect(call_of(SYSCALL_NUMBERS - 1, 1), "syscall_1023");
	expect(call_of(SYSCALL_NUMBERS, 0), "invalid");
	expect(call_of(~UINT64_C(0), 0), "invalid");
	/* Of no table that there is. */
	expect((uint32_t)_SYSCALL_ABI_MAX << 16 | 1, "syscall_0");
	assert_null(syscall_abi_name((uint32_t)_SYSCALL_ABI_MAX << 16 | 1));
}

#ifdef __x86_64__
TEST(syscall_names_use_separate_tables_for_other_abis)
{
	expect(call_of(20, 1), "getpid");
	expect(call_of(3, 1), "read");
	assert_string_equal(syscall_abi_name(call_of(3, 1)), "i386");
	expect(call_of(SYSCALL_X32_BIT | 110, 0), "getppid");
	expect(call_of(SYSCALL_X32_BIT | 512, 0), "rt_sigaction");
	assert_string_equal(syscall_abi_name(call_of(SYSCALL_X32_BIT, 0)), "x32");
}
#else
static void syscall_names_use_separate_tables_for_other_abis(void **state)
{
	(void)state;
	expect(call_of(3, 1), "syscall_3");
	assert_string_equal(syscall_abi_name(call_of(3, 1)), "arm");
}
#endif

/* What counts calls, or is not one, is no name. */
TEST(syscall_names_are_unique_and_only_of_syscalls)
{
	char name[SYSCALL_NAME_BYTES], other[SYSCALL_NAME_BYTES];
	unsigned int named = 0;

	for (uint32_t i = 0; i < SYSCALL_NUMBERS; i++) {
		syscall_name(call_of(i, 0), name);
		named += strncmp(name, "syscall_", 8) != 0;
		assert_string_not_equal(name, "syscalls");
		assert_string_not_equal(name, "arch_specific_syscall");
		for (uint32_t j = 0; j < i; j++) {
			syscall_name(call_of(j, 0), other);
			assert_string_not_equal(name, other);
		}
	}
	assert_in_range(named, 250, 600);
}
