/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of the kernel's functions, by lists as /proc/kallsyms gives them. */
#include "recorder/symbolize/kernel_symbols.h"

#include <errno.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"

static const char list[] = "0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000400 W weak_name\n"
			   "ffffffff81000400 t local_name\n"
			   "ffffffff81000400 T global_name\n"
			   "ffffffff81000200 t first\n"
			   "ffffffff81000800 D data\n"
			   "ffffffff81000900 t last\n"
			   "ffffffff81001000 T _etext\n"
			   "ffffffff82000000 T init\n"
			   "ffffffffc0001000 t one\t[nf]\n"
			   "ffffffffc0001100 t two\t[nf]\n"
			   "ffffffffc0003f00 t three\t[xfs]\n"
			   "ffffffffc0008000 t bpf_prog_6deef7357e7b4530_name\t[bpf]\n"
			   "ffffffffc0009000 t ftrace_trampoline\t[__builtin__ftrace]\n";

static int read_list(struct kernel_symbols *symbols, const char *text)
{
	_cleanup_file_ FILE *file = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(file);
	return kernel_symbols_read(symbols, file);
}

/* "" = it is not known. */
static const char *name_of(const struct kernel_symbols *symbols, uint64_t address)
{
	static char name[KERNEL_NAME_BYTES];

	int r;

	memset(name, '?', sizeof(name));
	r = kernel_symbols_find(symbols, address, name);
	assert_int_equal(r, name[0] ? 0 : -ENOENT);
	return name;
}

static struct kernel_symbols *known(void)
{
	struct kernel_symbols *symbols = kernel_symbols_new();

	assert_non_null(symbols);
	assert_int_equal(read_list(symbols, list), 0);
	return symbols;
}

TEST(kernel_symbols_find_function_of_address)
{
	_cleanup_(kernel_symbols_freep) struct kernel_symbols *symbols = known();

	assert_string_equal(name_of(symbols, 0xffffffff81000000), "_stext");
	assert_string_equal(name_of(symbols, 0xffffffff810001ff), "_stext");
	assert_string_equal(name_of(symbols, 0xffffffff81000200), "first");
	/* Data is no function. */
	assert_string_equal(name_of(symbols, 0xffffffff810008ff), "global_name");
	assert_string_equal(name_of(symbols, 0xffffffff81000900), "last");
	assert_string_equal(name_of(symbols, 0xffffffff81000fff), "last");
}

TEST(kernel_symbols_prefer_most_public_name)
{
	_cleanup_(kernel_symbols_freep) struct kernel_symbols *symbols = known();

	assert_string_equal(name_of(symbols, 0xffffffff81000400), "global_name");
	assert_int_equal(read_list(symbols, "0000000000000010 w weak\n0000000000000010 t local\n"
					    "0000000000000010 t other\n0000000000000020 T end\n"),
			 0);
	assert_string_equal(name_of(symbols, 0x10), "local");
}

TEST(kernel_symbols_have_no_name_outside_text)
{
	_cleanup_(kernel_symbols_freep) struct kernel_symbols *symbols = known();

	assert_string_equal(name_of(symbols, 0), "");
	assert_string_equal(name_of(symbols, 0xffffffff80ffffff), "");
	assert_string_equal(name_of(symbols, 0xffffffff81001000), "");
	assert_string_equal(name_of(symbols, 0xffffffff81fff000), "");
	/* What is behind it reaches to nobody knows where. */
	assert_string_equal(name_of(symbols, 0xffffffff82000000), "");
	/* Nor does the last of a list without an end. */
	assert_int_equal(read_list(symbols, "0000000000000010 t one\n0000000000000020 t two\n"), 0);
	assert_string_equal(name_of(symbols, 0x1f), "one");
	assert_string_equal(name_of(symbols, 0x20), "");
}

TEST(kernel_symbols_of_module_end_with_page_of_last_symbol)
{
	_cleanup_(kernel_symbols_freep) struct kernel_symbols *symbols = known();

	assert_string_equal(name_of(symbols, 0xffffffffc0001000), "one [nf]");
	assert_string_equal(name_of(symbols, 0xffffffffc0001fff), "two [nf]");
	assert_string_equal(name_of(symbols, 0xffffffffc0002000), "");
	assert_string_equal(name_of(symbols, 0xffffffffc0003f00), "three [xfs]");
	assert_string_equal(name_of(symbols, 0xffffffffc0004000), "");
}

TEST(kernel_symbols_merge_bpf_and_ftrace_programs)
{
	_cleanup_(kernel_symbols_freep) struct kernel_symbols *symbols = known();

	assert_string_equal(name_of(symbols, 0xffffffffc0008010), "[bpf]");
	assert_string_equal(name_of(symbols, 0xffffffffc0009010), "[__builtin__ftrace]");
}

TEST(kernel_symbols_are_movable_outside_kernel_text)
{
	_cleanup_(kernel_symbols_freep) struct kernel_symbols *symbols = known();

	assert_false(kernel_symbols_is_movable(symbols, 0xffffffff81000000));
	assert_false(kernel_symbols_is_movable(symbols, 0xffffffff81000fff));
	assert_true(kernel_symbols_is_movable(symbols, 0xffffffff81001000));
	assert_true(kernel_symbols_is_movable(symbols, 0xffffffff80ffffff));
	assert_true(kernel_symbols_is_movable(symbols, 0xffffffffc0001000));
}

TEST(kernel_symbols_return_eperm_if_addresses_are_hidden)
{
	_cleanup_(kernel_symbols_freep) struct kernel_symbols *symbols = known();

	assert_int_equal(read_list(symbols, "0000000000000000 T _stext\n0000000000000000 t one\n"),
			 -EPERM);
	assert_string_equal(name_of(symbols, 0xffffffff81000000), "");
	assert_int_equal(read_list(symbols, list), 0);
	assert_string_equal(name_of(symbols, 0xffffffff81000000), "_stext");
	assert_int_equal(read_list(symbols, "\n"), -EPERM);
	assert_string_equal(name_of(symbols, 0xffffffff81000000), "");
}

TEST(kernel_symbols_skip_malformed_lines)
{
	_cleanup_(kernel_symbols_freep) struct kernel_symbols *symbols = known();

	assert_int_equal(read_list(symbols, "no line\n0000000000000010\n0000000000000018 t\n"
					    "0000000000000020 t a\x01z\n\n"
					    "0000000000000030 T end\n"),
			 0);
	assert_string_equal(name_of(symbols, 0x10), "");
	assert_string_equal(name_of(symbols, 0x20), "a\\x01z");
}

TEST(kernel_symbols_truncate_long_names)
{
	_cleanup_(kernel_symbols_freep) struct kernel_symbols *symbols = known();
	static char text[1024];

	(void)snprintf(text, sizeof(text), "0000000000000010 t %0*d\n0000000000000020 t end\n", 500,
		       1);
	assert_int_equal(read_list(symbols, text), 0);
	assert_int_equal(strlen(name_of(symbols, 0x10)), KERNEL_NAME_BYTES - 1);
}

TEST(kernel_symbols_are_empty_without_memory)
{
	_cleanup_(kernel_symbols_freep) struct kernel_symbols *symbols = known();
	size_t failures = 0;

	assert_each_allocation_can_fail(
		read_list(symbols, list),
		(failures++, assert_string_equal(name_of(symbols, 0xffffffff81000000), "")));
	assert_true(failures > 1);
}

static uint64_t number_of(const char *text)
{
	_cleanup_file_ FILE *file = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(file);
	return kernel_symbols_modules(file);
}

TEST(kernel_modules_number_changes_with_loaded_modules)
{
	static const char xfs[] = "xfs 2371584 1 - Live 0xffffffffc0a00000\n";
	uint64_t number = number_of(xfs);

	assert_true(number != 0);
	assert_int_equal(number_of("xfs 2371584 9 - Live 0xffffffffc0a00000\n"), number);
	assert_true(number_of("xfs 2371584 1 - Live 0xffffffffc0b00000\n") != number);
	assert_true(number_of("nfs 2371584 1 - Live 0xffffffffc0a00000\n") != number);
	assert_true(number_of("xfs 2371584 1 - Live 0xffffffffc0a00000\n"
			      "nf 1 1 - Live 0xffffffffc0c00000\n") != number);
	assert_int_equal(number_of("what is this\n"), 0);
}
