/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit_test.h"

#include "recorder/target/proc/namespaces.h"

UNIT_TEST_ALONE;

/* What a kernel says of a process's files and of the process; 0 = what ours does. */
static int stat_error, kill_error;

int stat(const char *path, struct stat *ret_status)
{
	if (!stat_error)
		return fstatat(AT_FDCWD, path, ret_status, 0);
	errno = stat_error;
	return -1;
}

int kill(pid_t pid, int number)
{
	(void)pid;
	assert_int_equal(number, 0);
	if (!kill_error)
		return 0;
	errno = kill_error;
	return -1;
}

/* What /proc/self is said to be; NULL = what it is. */
static const char *own_name;

ssize_t readlink(const char *path, char *text, size_t size_bytes)
{
	size_t length;

	if (!own_name)
		return readlinkat(AT_FDCWD, path, text, size_bytes);
	assert_string_equal(path, "/proc/self");
	/* There is room for all of it, and for an end. */
	memset(text, '7', size_bytes);
	length = strlen(own_name);
	memcpy(text, own_name, length);
	return length ? (ssize_t)length : -1;
}

TEST(namespaces_reject_proc_of_other_pid_namespace)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "%d", getpid());
	own_name = name;
	assert_int_equal(namespaces_check_own_proc(), 0);
	(void)snprintf(name, sizeof(name), "%d", getpid() + 1);
	assert_int_equal(namespaces_check_own_proc(), -ENOTSUP);
	/* There is none. */
	own_name = "";
	assert_int_equal(namespaces_check_own_proc(), -ENOTSUP);
	own_name = NULL;
}

TEST(namespaces_differences_are_named_in_order)
{
	const struct namespaces ours = { { 1, 2, 3 } };
	const struct namespaces theirs = { { 9, 2, 9 } };
	const struct namespaces others = { { 9, 9, 9 } };
	char text[NAMESPACES_TEXT_BYTES];

	namespaces_differences(&ours, &ours, text);
	assert_string_equal(text, "");
	namespaces_differences(&ours, &theirs, text);
	assert_string_equal(text, "pid, user");
	namespaces_differences(&ours, &others, text);
	assert_string_equal(text, "pid, mount, user");
}

TEST(namespaces_differences_ignore_hidden_namespaces)
{
	const struct namespaces ours = { { 1, 2, 3 } };
	const struct namespaces hidden = { { 0, 9, 0 } };
	char text[NAMESPACES_TEXT_BYTES];

	namespaces_differences(&ours, &hidden, text);
	assert_string_equal(text, "mount");
}

TEST(namespaces_of_own_process_are_read)
{
	struct namespaces own, again;
	char text[NAMESPACES_TEXT_BYTES];

	assert_int_equal(namespaces_read(getpid(), &own), 0);
	for (int kind = 0; kind < _NAMESPACE_KIND_MAX; kind++)
		assert_int_not_equal(own.inodes[kind], 0);
	assert_int_equal(namespaces_read(getpid(), &again), 0);
	namespaces_differences(&own, &again, text);
	assert_string_equal(text, "");
	assert_int_equal(namespaces_check_own_proc(), 0);
}

TEST(namespaces_recognise_initial_ones_by_inode)
{
	const struct namespaces machine = { { 0xEFFFFFFC, 1, 0xEFFFFFFD } };
	const struct namespaces container = { { 4026532180, 1, 4026532181 } };

	assert_true(namespaces_is_initial(&machine, NAMESPACE_PID));
	assert_true(namespaces_is_initial(&machine, NAMESPACE_USER));
	assert_false(namespaces_is_initial(&container, NAMESPACE_PID));
	assert_false(namespaces_is_initial(&container, NAMESPACE_USER));
}

TEST(namespaces_read_distinguishes_exit_from_missing_support)
{
	static const struct {
		int of_file, of_process, result;
	} cases[] = {
		{ ENOENT, ESRCH, -ESRCH },
		{ ENOENT, EPERM, 0 },
		{ ENOENT, 0, 0 },
		{ EACCES, ESRCH, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct namespaces namespaces = { { 7, 7, 7 } };
		uint64_t expected = cases[i].result ? 7 : 0;

		stat_error = cases[i].of_file;
		kill_error = cases[i].of_process;
		assert_int_equal(namespaces_read(1, &namespaces), cases[i].result);
		assert_int_equal(namespaces.inodes[NAMESPACE_PID], expected);
	}
	stat_error = kill_error = 0;
}
