/* SPDX-License-Identifier: GPL-2.0-only */
/* Who may read whom, and what is said if not. */
#include "recorder/target/proc/process_access.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

UNIT_TEST_ALONE;

enum {
	NOBODY_USER = 65534,
	NOBODY = 0x7ffffffe
};

/* Yama's ptrace_scope; NULL = the kernel has none. */
static const char *yama_scope;

FILE *fopen(const char *path, const char *mode)
{
	assert_string_equal(path, "/proc/sys/kernel/yama/ptrace_scope");
	return yama_scope ? fmemopen((char *)(uintptr_t)yama_scope, strlen(yama_scope), mode)
			  : NULL;
}

TEST(process_access_check_reads_where_a_file_is_mapped)
{
	char byte = 'x';
	uint64_t there = (uintptr_t)&byte;
	struct memory_map_entry entries[] = {
		{ .start = 0x1000, .path = "/a", .is_readable = false },
		{ .start = 0x1000, .path = "[stack]", .is_readable = true },
		{ .start = there, .path = "/a", .is_readable = true },
	};
	const struct memory_map map = { .entries = entries, .count = 3 };

	assert_int_equal(process_access_check(getpid(), &map), 0);
	/* That this very place is not there says nothing of who may. */
	entries[2].start = 0x1000;
	assert_int_equal(process_access_check(getpid(), &map), 0);
	assert_int_equal(process_access_check(NOBODY, &map), -ESRCH);
	/* Nothing is to be tried. */
	entries[2].is_readable = false;
	assert_int_equal(process_access_check(NOBODY, &map), 0);
}

/* In a child: so has a user without privileges, of a process of `user`; text: what is said. */
static void explain_to_nobody(uid_t user, char text[static PROCESS_ACCESS_TEXT_BYTES])
{
	int life[2], answer[2];
	pid_t other, child;

	assert_int_equal(pipe(life), 0);
	assert_int_equal(pipe(answer), 0);
	other = fork();
	if (other == 0) {
		char byte;

		(void)close(life[1]);
		if (setuid(user) || write(answer[1], "x", 1) != 1)
			_exit(1);
		_exit((int)read(life[0], &byte, 1));
	}
	assert_int_equal(read(answer[0], text, 1), 1);
	child = fork();
	if (child == 0) {
		if (setuid(NOBODY_USER) || process_access_is_general())
			_exit(1);
		process_access_explain(other, text);
		if (write(answer[1], text, PROCESS_ACCESS_TEXT_BYTES) < 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(answer[0], text, PROCESS_ACCESS_TEXT_BYTES),
			 PROCESS_ACCESS_TEXT_BYTES);
	assert_int_equal(waitpid(child, NULL, 0), child);
	(void)close(life[1]);
	assert_int_equal(waitpid(other, NULL, 0), other);
	(void)close(life[0]);
	(void)close(answer[0]);
	(void)close(answer[1]);
}

static void skip_without_root(void)
{
	if (getuid()) {
		print_message("changing the user needs root\n");
		skip();
	}
}

TEST(process_access_explains_owner_or_yama_scope)
{
	static const struct {
		const char *scope;
		uid_t user;
		const char *text;
	} cases[] = {
		{ NULL, 4321,
		  "it is user 4321's, which needs CAP_SYS_PTRACE (or run as root, or as its user)" },
		{ "0\n", 0,
		  "it is user 0's, which needs CAP_SYS_PTRACE (or run as root, or as its user)" },
		{ "1\n", 0, "it is user 0's, which needs CAP_SYS_PTRACE (or run as root)" },
		{ "2\n", NOBODY_USER,
		  "kernel.yama.ptrace_scope is 2, so one's own processes need CAP_SYS_PTRACE, too "
		  "(or run as root)" },
		{ "3\n", NOBODY_USER,
		  "kernel.yama.ptrace_scope is 3: nobody may until the next boot" },
		{ "no number", NOBODY_USER,
		  "it has privileges of its own, which needs CAP_SYS_PTRACE (or run as root)" },
		{ NULL, NOBODY_USER,
		  "it has privileges of its own, which needs CAP_SYS_PTRACE (or run as root)" },
	};

	skip_without_root();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[PROCESS_ACCESS_TEXT_BYTES];

		yama_scope = cases[i].scope;
		explain_to_nobody(cases[i].user, text);
		assert_string_equal(text, cases[i].text);
	}
	yama_scope = NULL;
}

TEST(process_access_is_denied_for_process_of_other_user)
{
	char byte = 'x';
	struct memory_map_entry entry = { .start = (uintptr_t)&byte,
					  .path = "/a",
					  .is_readable = true };
	const struct memory_map map = { .entries = &entry, .count = 1 };
	pid_t child;
	int status;

	skip_without_root();
	child = fork();
	if (child == 0)
		_exit(setuid(NOBODY_USER) ? 100 : -process_access_check(getppid(), &map));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EPERM);
}

/* What is said of who may, with these capabilities and no others. */
static bool is_general_with(uint64_t capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)capabilities, .permitted = (uint32_t)capabilities },
		{ .effective = (uint32_t)(capabilities >> 32),
		  .permitted = (uint32_t)(capabilities >> 32) },
	};
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(syscall(SYS_capset, &header, data) ? 100 : process_access_is_general());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_in_range(WEXITSTATUS(status), 0, 1);
	return WEXITSTATUS(status);
}

TEST(process_access_is_general_only_with_ptrace_capability)
{
	const uint64_t ours = UINT64_C(1) << 19;

	skip_without_root();
	assert_true(is_general_with(ours));
	for (int other = 0; other <= 22; other++)
		assert_int_equal(is_general_with(UINT64_C(1) << other), other == 19);
	assert_true(is_general_with(ours | ours >> 1 | ours << 1));
	assert_false(is_general_with(ours >> 1 | ours << 1));
}

TEST(process_access_explains_denial_despite_capability)
{
	char text[PROCESS_ACCESS_TEXT_BYTES];

	if (!process_access_is_general()) {
		print_message("needs CAP_SYS_PTRACE\n");
		skip();
	}
	process_access_explain(getpid(), text);
	assert_string_equal(text,
			    "a container, its user namespace or a security module forbids it, "
			    "in spite of CAP_SYS_PTRACE");
	yama_scope = "3";
	process_access_explain(getpid(), text);
	assert_string_equal(text, "kernel.yama.ptrace_scope is 3: nobody may until the next boot");
	yama_scope = NULL;
}
