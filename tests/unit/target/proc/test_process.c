/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "target/proc/process.h"

static void wait_for_end_of_pipe(int fd)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		;
	_exit(0);
}

/* A child with a child, both named, that live until the pipe's writing end is closed. */
struct family {
	pid_t child;
	pid_t grandchild;
	int life;
};

static struct family family_start(void)
{
	struct family family = { 0 };
	int life[2];
	int birth[2];

	assert_int_equal(pipe(life), 0);
	assert_int_equal(pipe(birth), 0);
	family.child = fork();
	assert_true(family.child >= 0);
	if (family.child == 0) {
		pid_t grandchild;

		(void)close(life[1]);
		(void)prctl(PR_SET_NAME, "a) b (c");
		grandchild = fork();
		if (grandchild == 0)
			wait_for_end_of_pipe(life[0]);
		if (write(birth[1], &grandchild, sizeof(grandchild)) != sizeof(grandchild))
			_exit(1);
		wait_for_end_of_pipe(life[0]);
	}
	assert_int_equal(read(birth[0], &family.grandchild, sizeof(pid_t)), sizeof(pid_t));
	(void)close(birth[0]);
	(void)close(birth[1]);
	(void)close(life[0]);
	family.life = life[1];
	return family;
}

static void family_end(const struct family *family)
{
	(void)close(family->life);
	assert_int_equal(waitpid(family->child, NULL, 0), family->child);
}

static void this_process_is_described(void **state)
{
	struct process_info info;
	struct process_info again;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "0123456789abcdef"), 0);
	assert_int_equal(process_read_info(getpid(), &info), 0);
	assert_int_equal(info.pid, getpid());
	assert_int_equal(info.parent_pid, getppid());
	assert_int_equal(info.ns_pid, getpid());
	assert_string_equal(info.comm, "0123456789abcde");
	assert_true(info.start_ticks > 0);
	assert_int_equal(process_read_info(getpid(), &again), 0);
	assert_int_equal(again.start_ticks, info.start_ticks);
}

static void a_name_with_parentheses_does_not_shift_the_fields(void **state)
{
	struct family family = family_start();
	struct process_info info;

	(void)state;
	assert_int_equal(process_read_info(family.child, &info), 0);
	assert_string_equal(info.comm, "a) b (c");
	assert_int_equal(info.parent_pid, getpid());
	family_end(&family);
}

static void descendants_are_listed_breadth_first_without_the_pid_itself(void **state)
{
	struct family family = family_start();
	_cleanup_free_ pid_t *of_self = NULL;
	_cleanup_free_ pid_t *of_child = NULL;
	_cleanup_free_ pid_t *of_grandchild = NULL;
	size_t count;

	(void)state;
	assert_int_equal(process_find_descendants(getpid(), &of_self, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(of_self[0], family.child);
	assert_int_equal(of_self[1], family.grandchild);
	assert_int_equal(process_find_descendants(family.child, &of_child, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(of_child[0], family.grandchild);
	assert_int_equal(process_find_descendants(family.grandchild, &of_grandchild, &count), 0);
	assert_int_equal(count, 0);
	assert_non_null(of_grandchild);
	family_end(&family);
}

static void a_zombie_and_a_free_pid_are_no_process(void **state)
{
	struct process_info info = { .pid = 42 };
	siginfo_t status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &status, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_read_info(child, &info), -ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(process_read_info(0x7ffffffe, &info), -ESRCH);
	assert_null(process_server_name(0x7ffffffe));
	assert_int_equal(info.pid, 42);
}

static void servers_are_known_by_title_or_script(void **state)
{
#define CASE(line, name)                 \
	{                                \
		line, sizeof(line), name \
	}
	static const struct {
		const char *line;
		size_t size_bytes;
		const char *name;
	} cases[] = {
		CASE("puma 6.4.0 (tcp://0.0.0.0:9292) [shop]", "puma"),
		CASE("puma: cluster worker 0: 12 [shop]", "puma"),
		CASE("unicorn master -c config/unicorn.rb", "unicorn"),
		CASE("sidekiq 7.1.2 shop [0 of 5 busy]", "sidekiq"),
		CASE("resque-2.4.0: Waiting for default", "resque"),
		CASE("Passenger RubyApp: /srv/shop (production)", "passenger"),
		CASE("ruby\0/usr/local/bin/puma\0-C\0config/puma.rb", "puma"),
		CASE("/usr/bin/ruby3.1\0-w\0-I\0lib\0bin/rails\0server", "rails"),
		CASE("ruby\0/usr/bin/bundle\0exec\0falcon\0serve", "falcon"),
		CASE("ruby\0bin/unicorn_rails", "unicorn"),
		CASE("ruby\0script.rb\0puma", NULL),
		CASE("ruby\0-e\0puma_like", NULL),
		CASE("pumas", NULL),
		CASE("ruby\0-I", NULL),
		CASE("ruby", NULL),
		CASE("", NULL),
	};
#undef CASE

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *name = process_server_name_of(cases[i].line, cases[i].size_bytes);

		if (!name != !cases[i].name || (name && strcmp(name, cases[i].name) != 0))
			fail_msg("\"%s\": %s", cases[i].line, name ? name : "none");
	}
	assert_null(process_server_name_of(NULL, 0));
}

static void a_variable_is_what_it_was_when_the_program_started(void **state)
{
	char *const arguments[] = { "sleep", "60", NULL };
	char *const environment[] = { "LONGER=no", "LONG=0123456", "EMPTY=", "LONG=7", NULL };
	char value[8] = "before";
	pid_t child = fork();
	int r;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		(void)execve("/bin/sleep", arguments, environment);
		_exit(1);
	}
	/* Before the exec it is ours, and in it that of neither. */
	do
		r = process_read_variable(child, "LONG", value, sizeof(value));
	while (r == -ENOENT || r == -EFAULT);
	assert_int_equal(r, 0);
	assert_string_equal(value, "0123456");
	assert_int_equal(process_read_variable(child, "EMPTY", value, sizeof(value)), 0);
	assert_string_equal(value, "");
	assert_int_equal(process_read_variable(child, "LON", value, sizeof(value)), -ENOENT);
	assert_int_equal(process_read_variable(child, "LONGER", value, 2), -ENOENT);
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(process_read_variable(child, "LONG", value, sizeof(value)), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_process_is_described),
		cmocka_unit_test(a_name_with_parentheses_does_not_shift_the_fields),
		cmocka_unit_test(descendants_are_listed_breadth_first_without_the_pid_itself),
		cmocka_unit_test(a_zombie_and_a_free_pid_are_no_process),
		cmocka_unit_test(servers_are_known_by_title_or_script),
		cmocka_unit_test(a_variable_is_what_it_was_when_the_program_started),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
