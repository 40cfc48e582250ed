/* SPDX-License-Identifier: GPL-2.0-only */
/* Who may read whom, and what is said if not. */
#include "target/proc/process_access.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	NOBODY_USER = 65534,
	NOBODY = 0x7ffffffe
};

static int yama_scope(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (!file)
		return 0;
	assert_int_equal(fscanf(file, "%d", &scope), 1);
	(void)fclose(file);
	return scope;
}

static void what_can_be_read_is_tried_where_a_file_is_mapped(void **state)
{
	char byte = 'x';
	uint64_t there = (uintptr_t)&byte;
	struct memory_map_entry entries[] = {
		{ .start = 0x1000, .path = "/a", .is_readable = false },
		{ .start = 0x1000, .path = "[stack]", .is_readable = true },
		{ .start = there, .path = "/a", .is_readable = true },
	};
	const struct memory_map map = { .entries = entries, .count = 3 };

	(void)state;
	assert_int_equal(process_access_check(getpid(), &map), 0);
	/* That this very place is not there says nothing of who may. */
	entries[2].start = 0x1000;
	assert_int_equal(process_access_check(getpid(), &map), 0);
	assert_int_equal(process_access_check(NOBODY, &map), -ESRCH);
	/* Nothing is to be tried. */
	entries[2].is_readable = false;
	assert_int_equal(process_access_check(NOBODY, &map), 0);
}

/* Of a user without privileges, of process pid; text: what is said. */
static int check_as_nobody(pid_t pid, char text[static PROCESS_ACCESS_TEXT_BYTES])
{
	char byte = 'x';
	struct memory_map_entry entry = { .start = (uintptr_t)&byte,
					  .path = "/a",
					  .is_readable = true };
	const struct memory_map map = { .entries = &entry, .count = 1 };
	int fds[2], status;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		if (setgid(NOBODY_USER) || setuid(NOBODY_USER) || process_access_is_general())
			_exit(100);
		process_access_explain(pid ? pid : getpid(), text);
		if (write(fds[1], text, PROCESS_ACCESS_TEXT_BYTES) < 0)
			_exit(101);
		_exit(-process_access_check(pid ? pid : getpid(), &map));
	}
	assert_int_equal(read(fds[0], text, PROCESS_ACCESS_TEXT_BYTES), PROCESS_ACCESS_TEXT_BYTES);
	(void)close(fds[0]);
	(void)close(fds[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void another_users_process_is_refused_and_it_is_said_whose_it_is(void **state)
{
	char text[PROCESS_ACCESS_TEXT_BYTES];

	(void)state;
	if (getuid() || yama_scope() >= 3) {
		print_message("changing the user needs root\n");
		skip();
	}
	assert_int_equal(check_as_nobody(getpid(), text), -EPERM);
	assert_string_equal(text, yama_scope() ? "it is user 0's, which needs CAP_SYS_PTRACE (or "
						 "run as root)"
					       : "it is user 0's, which needs CAP_SYS_PTRACE (or "
						 "run as root, or as its user)");
	/* One's own needs none, but where yama says so, or the program has privileges. */
	(void)check_as_nobody(0, text);
	if (yama_scope())
		assert_non_null(strstr(text, "so one's own processes need CAP_SYS_PTRACE, too"));
	else
		assert_string_equal(text,
				    "it has privileges of its own, which needs CAP_SYS_PTRACE "
				    "(or run as root)");
}

static void who_may_in_general_is_kept_from_it_by_something_else(void **state)
{
	char text[PROCESS_ACCESS_TEXT_BYTES];

	(void)state;
	if (!process_access_is_general() || yama_scope() >= 3) {
		print_message("needs CAP_SYS_PTRACE\n");
		skip();
	}
	process_access_explain(getpid(), text);
	assert_string_equal(text,
			    "a container, its user namespace or a security module forbids it, "
			    "in spite of CAP_SYS_PTRACE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_can_be_read_is_tried_where_a_file_is_mapped),
		cmocka_unit_test(another_users_process_is_refused_and_it_is_said_whose_it_is),
		cmocka_unit_test(who_may_in_general_is_kept_from_it_by_something_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
