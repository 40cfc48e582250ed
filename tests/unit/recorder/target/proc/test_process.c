/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "failing_memory.h"
#include "recorder/target/proc/living_thread.h"
#include "recorder/target/proc/memory_map.h"
#include "recorder/target/proc/memory_reader.h"
#include "recorder/target/proc/process.h"

UNIT_TEST_ALONE;

/* What our own files are said to hold; NULL = what they do. */
static const char *forged_stat, *forged_status;

int open(const char *path, int flags, ...)
{
	const char *name = strrchr(path, '/'), *text = NULL;
	int fd;

	if (strcmp(name, "/stat") == 0)
		text = forged_stat;
	else if (strcmp(name, "/status") == 0)
		text = forged_status;
	if (!text)
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
	fd = memfd_create("forged", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* other: a child to end first, or 0: what nobody waits for becomes pid 1's, which we may be. */
static void wait_for_end_of_pipe(int fd, pid_t other)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		;
	if (other)
		(void)waitpid(other, NULL, 0);
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
			wait_for_end_of_pipe(life[0], 0);
		if (write(birth[1], &grandchild, sizeof(grandchild)) != sizeof(grandchild))
			_exit(1);
		wait_for_end_of_pipe(life[0], grandchild);
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

TEST(process_info_describes_own_process)
{
	struct process_info info;
	struct process_info again;

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

TEST(process_comm_with_parentheses_does_not_shift_fields)
{
	struct family family = family_start();
	struct process_info info;

	assert_int_equal(process_read_info(family.child, &info), 0);
	assert_string_equal(info.comm, "a) b (c");
	assert_int_equal(info.parent_pid, getpid());
	family_end(&family);
}

TEST(process_descendants_are_breadth_first_without_root)
{
	struct family family = family_start();
	_cleanup_free_ pid_t *of_self = NULL;
	_cleanup_free_ pid_t *of_child = NULL;
	_cleanup_free_ pid_t *of_grandchild = NULL;
	size_t count;

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

/* Of two children with a child each: as they were born, parents and pids are not in one order. */
TEST(process_descendants_list_children_before_grandchildren)
{
	struct family older = family_start(), younger = family_start();
	_cleanup_free_ pid_t *pids = NULL;
	size_t count;

	assert_int_equal(process_find_descendants(getpid(), &pids, &count), 0);
	assert_int_equal(count, 4);
	assert_true((pids[0] == older.child && pids[1] == younger.child) ||
		    (pids[0] == younger.child && pids[1] == older.child));
	assert_int_equal(pids[2] + pids[3], older.grandchild + younger.grandchild);
	/* The older one's end of its pipe is the younger one's, too. */
	family_end(&younger);
	family_end(&older);
}

TEST(process_info_rejects_zombie_and_free_pid)
{
	struct process_info info = { .pid = 42 };
	siginfo_t status;
	pid_t child = fork();

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

static int glance_at(const char *text, struct process_info *ret_info)
{
	int r;

	forged_stat = text;
	r = process_glance(getpid(), ret_info);
	forged_stat = NULL;
	return r;
}

TEST(process_glance_parses_stat_and_rejects_malformed_one)
{
#define FIELDS_BEHIND(state, threads) \
	state " 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 " threads " 21 22 23 24 25 26 27 28 29\n"
#define FIELDS(state, threads) "77 (x) " FIELDS_BEHIND(state, threads)
	struct process_info info = { .pid = 42 };

	assert_int_equal(glance_at("", &info), -EINVAL);
	assert_int_equal(glance_at("77 x) S 3\n", &info), -EINVAL);
	assert_int_equal(glance_at("77 (x S 3\n", &info), -EINVAL);
	assert_int_equal(glance_at("77 (x) S 3 4 5\n", &info), -EINVAL);
	assert_int_equal(glance_at(") " FIELDS_BEHIND("S", "1") "(x", &info), -EINVAL);
	assert_int_equal(glance_at(FIELDS("X", "2"), &info), -ESRCH);
	assert_int_equal(glance_at(FIELDS("Z", "1"), &info), -ESRCH);
	assert_int_equal(glance_at(FIELDS("Z", "0"), &info), -ESRCH);
	assert_int_equal(info.pid, 42);
	assert_int_equal(glance_at(FIELDS("Z", "2"), &info), 0);
	assert_int_equal(glance_at(FIELDS("S", "1"), &info), 0);
	assert_int_equal(info.pid, getpid());
	assert_int_equal(info.parent_pid, 4);
	assert_int_equal(info.start_ticks, 22);
	assert_int_equal(info.program.code_start, 26);
	assert_int_equal(info.program.code_end, 27);
	assert_int_equal(info.program.stack_start, 28);
	assert_string_equal(info.comm, "x");
#undef FIELDS
#undef FIELDS_BEHIND
}

TEST(process_ns_pid_is_last_of_its_namespaces)
{
	static const struct {
		const char *text;
		uint32_t ns_pid; /* 0 = that of ours */
	} cases[] = {
		{ "Name:\tx\nNSpid:\t100\nNSpgid:\t5\n", 100 },
		{ "Name:\tx\nNSpid:\t100\t20 3\nNSpgid:\t5\n", 3 },
		{ "Name:\tx\nNSpgid:\t5\n", 0 },
		{ "", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct process_info info;

		forged_status = cases[i].text;
		assert_int_equal(process_read_info(getpid(), &info), 0);
		assert_int_equal(info.ns_pid,
				 cases[i].ns_pid ? cases[i].ns_pid : (uint32_t)getpid());
	}
	forged_status = NULL;
}

/* A variable of what is from start to end, by the fields of a stat that say so. */
static int read_variable_between(const char *start, const char *end, char value[static 8])
{
	char text[256];
	int r;

	(void)snprintf(text, sizeof(text),
		       "77 (a) b) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 "
		       "27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 %ju "
		       "%ju 52\n",
		       (uintmax_t)(uintptr_t)start, (uintmax_t)(uintptr_t)end);
	forged_stat = text;
	r = process_read_variable(getpid(), "A", value, 8);
	forged_stat = NULL;
	return r;
}

TEST(process_environment_lies_where_stat_says)
{
	static const char there[] = "A=1\0A=2";
	char value[8] = "before";

	assert_int_equal(read_variable_between(there, there, value), -ENOENT);
	assert_int_equal(read_variable_between(there + 1, there, value), -ENOENT);
	assert_int_equal(read_variable_between(NULL, there, value), -ENOENT);
	assert_int_equal(read_variable_between(NULL, NULL, value), -ENOENT);
	assert_int_equal(read_variable_between(there, there + 3, value), -ENOENT);
	assert_string_equal(value, "before");
	assert_int_equal(read_variable_between(there, there + 4, value), 0);
	assert_string_equal(value, "1");
	assert_int_equal(read_variable_between(there + 4, there + 8, value), 0);
	assert_string_equal(value, "2");
	/* Of a kernel that does not say. */
	forged_stat = "77 (x) S 3";
	assert_int_equal(process_read_variable(getpid(), "A", value, 8), -ENOENT);
	forged_stat = "77";
	assert_int_equal(process_read_variable(getpid(), "A", value, 8), -ENOENT);
	forged_stat = NULL;
}

TEST(process_server_name_comes_from_title_or_script)
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
		CASE("ruby\0-r\0puma\0-C\0rails\0sidekiq", "sidekiq"),
		CASE("ruby\0--x\0-\0rails", "rails"),
		CASE("bundler\0exec\0puma", "puma"),
		CASE("exec\0puma", "puma"),
		CASE("executor\0puma", NULL),
		CASE("puma[1]", "puma"),
		CASE("puma_1", "puma"),
		CASE("puma.rb", "puma"),
		CASE("puma/x", NULL),
		CASE("/x y/puma", NULL),
		CASE("pumas", NULL),
		CASE("ruby\0-I", NULL),
		CASE("ruby", NULL),
		CASE("", NULL),
	};
#undef CASE

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *name = process_server_name_of(cases[i].line, cases[i].size_bytes);

		if (!name != !cases[i].name || (name && strcmp(name, cases[i].name) != 0))
			fail_msg("\"%s\": %s", cases[i].line, name ? name : "none");
	}
	assert_null(process_server_name_of(NULL, 0));
}

TEST(process_server_name_uses_start_of_long_command_line)
{
	static char rest[8192];
	char *const arguments[] = { "puma", "-c", "read line", rest, NULL };
	const char *name;
	int life[2];
	pid_t child;

	memset(rest, 'x', sizeof(rest) - 1);
	assert_int_equal(pipe(life), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)dup2(life[0], STDIN_FILENO);
		(void)close(life[1]);
		(void)execv("/bin/sh", arguments);
		_exit(1);
	}
	/* Before the exec it is ours. */
	do
		name = process_server_name(child);
	while (!name && waitpid(child, NULL, WNOHANG) == 0);
	assert_string_equal(name, "puma");
	(void)close(life[0]);
	(void)close(life[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* A program that is about to begin with that environment, and sleeps. */
static pid_t start_program(char *const *environment)
{
	char *const arguments[] = { "sleep", "60", NULL };
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		(void)execve("/bin/sleep", arguments, environment);
		_exit(1);
	}
	return child;
}

TEST(process_variable_is_value_at_program_start)
{
	char *const environment[] = { "LONGER=no", "LONG=0123456", "EMPTY=", "LONG=7", NULL };
	char value[8] = "before";
	pid_t child = start_program(environment);
	int r;

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

TEST(process_variable_is_missing_without_environment)
{
	char *const environment[] = { NULL };
	char value[8] = "before", path[64], program[16];
	pid_t child = start_program(environment);
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", child);
	do {
		FILE *file = fopen(path, "r");

		assert_non_null(file);
		assert_non_null(fgets(program, sizeof(program), file));
		(void)fclose(file);
	} while (strcmp(program, "sleep\n") != 0);
	/* Its stack is set up a moment later. */
	do
		r = process_read_variable(child, "LONG", value, sizeof(value));
	while (r == -EFAULT);
	assert_int_equal(r, -ENOENT);
	assert_string_equal(value, "before");
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Of as many bytes as are asked for, the last of them LAST=12; more than one word may have. */
static pid_t start_with_environment(size_t bytes)
{
	static char words[4][100 * 1024];
	char *environment[6] = { NULL };
	char *const arguments[] = { (char[]){ "sleep" }, (char[]){ "60" }, NULL };
	static const char first[] = "READY=1", last[] = "LAST=12";
	size_t left = bytes - sizeof(first) - sizeof(last);
	size_t count = 0;
	pid_t child;

	environment[count++] = (char *)(uintptr_t)first;
	for (; left > 0; count++) {
		size_t size = left < sizeof(words[0]) ? left : sizeof(words[0]);

		memset(words[count], 'x', size - 1);
		words[count][size - 1] = '\0';
		environment[count] = words[count];
		left -= size;
	}
	environment[count] = (char *)(uintptr_t)last;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)execve("/bin/sleep", arguments, environment);
		_exit(1);
	}
	return child;
}

static int read_last(pid_t child, char value[static 8])
{
	char ready[8];
	int r;

	/* Before the exec it is ours, and in it that of neither. */
	do
		r = process_read_variable(child, "READY", ready, sizeof(ready));
	while (r == -ENOENT || r == -EFAULT);
	assert_int_equal(r, 0);
	return process_read_variable(child, "LAST", value, 8);
}

TEST(process_variable_is_read_whole_or_not_at_all)
{
	for (size_t bytes = 256 * 1024 - 1; bytes <= 256 * 1024 + 2; bytes++) {
		pid_t child = start_with_environment(bytes);
		char value[8] = "before";

		if (bytes <= 256 * 1024) {
			assert_int_equal(read_last(child, value), 0);
			assert_string_equal(value, "12");
		} else {
			assert_int_equal(read_last(child, value), -ENOENT);
			assert_string_equal(value, "before");
		}
		(void)kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
}

/* Its leader ends, and a thread of it runs on: the pipe's end is its own. */
static void *outlive(void *argument)
{
	wait_for_end_of_pipe(*(int *)argument, 0);
	return NULL;
}

TEST(process_exists_until_last_thread_has_ended)
{
	struct memory_reader reader;
	struct process_info info, own;
	struct memory_map map;
	int life[2], byte;
	pid_t child;

	assert_int_equal(pipe(life), 0);
	assert_int_equal(process_glance(getpid(), &own), 0);
	child = fork();
	if (child == 0) {
		pthread_t thread;

		(void)close(life[1]);
		if (pthread_create(&thread, NULL, outlive, &life[0]))
			_exit(1);
		(void)syscall(SYS_exit, 0);
	}
	(void)close(life[0]);
	while (living_thread_of(child) == child)
		assert_int_equal(process_glance(child, &info), 0);
	/* What the thread has is the process's. */
	assert_int_equal(process_of_thread(living_thread_of(child)), child);
	assert_int_equal(process_read_info(living_thread_of(child), &info), -ESRCH);
	assert_int_equal(process_read_info(child, &info), 0);
	assert_true(process_is_same_program(&info.program, &own.program));
	reader = memory_reader_of_process(child);
	assert_int_equal(memory_read(&reader, (uintptr_t)life, &byte, sizeof(byte)), 0);
	assert_int_equal(byte, life[0]);
	assert_int_equal(memory_map_of_process(child, &map), 0);
	assert_true(map.count > 0);
	memory_map_deinit(&map);
	(void)close(life[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(process_glance(child, &info), -ESRCH);
}

TEST(process_of_thread_is_its_thread_group)
{
	assert_int_equal(process_of_thread(getpid()), 0);
	assert_int_equal(process_of_thread(4194305), 0);
	assert_int_equal(living_thread_of(getpid()), getpid());
	assert_int_equal(living_thread_of(4194305), 4194305);
}

TEST(process_glance_identifies_program_by_addresses)
{
	struct process_info info, info_of_child;
	struct family family = family_start();
	struct process_program other;
	char on_stack;

	assert_int_equal(process_glance(getpid(), &info), 0);
	assert_int_equal(info.ns_pid, 0);
	assert_in_range((uintptr_t)process_glance_identifies_program_by_addresses,
			info.program.code_start, info.program.code_end);
	assert_true(info.program.stack_start > (uintptr_t)&on_stack);
	/* A fork runs the same, and each of the three tells others apart. */
	assert_int_equal(process_glance(family.child, &info_of_child), 0);
	assert_true(process_is_same_program(&info.program, &info_of_child.program));
	other = info.program;
	other.code_start++;
	assert_false(process_is_same_program(&info.program, &other));
	other = info.program;
	other.code_end++;
	assert_false(process_is_same_program(&info.program, &other));
	other = info.program;
	other.stack_start++;
	assert_false(process_is_same_program(&info.program, &other));
	assert_true(info_of_child.start_ticks >= info.start_ticks);
	family_end(&family);
}

TEST(process_functions_return_enomem_and_no_result)
{
	size_t count = 77, failures = 0;
	pid_t *pids = NULL;
	char value[8];

	assert_each_allocation_can_fail(process_find_descendants(getpid(), &pids, &count),
					(failures++, assert_null(pids)));
	assert_non_null(pids);
	assert_true(failures > 1);
	free(pids);
	memory_fails_after(0);
	assert_int_equal(process_read_variable(getpid(), "PATH", value, sizeof(value)), -ENOMEM);
	memory_never_fails();
}
