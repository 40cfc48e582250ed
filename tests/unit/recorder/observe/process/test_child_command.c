/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/child_command.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "ears.h"

enum {
	PATIENCE_MS = 20000
};

/* As correlator itself runs: signals are read, and a pipe without a reader is an error. */
static int set_up(void **state)
{
	sigset_t term;

	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	return sigprocmask(SIG_BLOCK, &term, NULL);
}

static struct child_command start(char *const *argv)
{
	struct child_command child = { 0 };

	assert_int_equal(child_command_start(argv, false, &child), 0);
	assert_true(child_command_runs(&child));
	return child;
}

static struct child_command start_shell(char *line)
{
	char *const argv[] = { "/bin/sh", "-c", line, NULL };

	return start(argv);
}

static void wait_for_end(int pid_fd)
{
	struct pollfd end = { .fd = pid_fd, .events = POLLIN };

	assert_int_equal(poll(&end, 1, PATIENCE_MS), 1);
}

/* Its code. */
static enum exit_code end_of(struct child_command *child)
{
	enum exit_code code;

	wait_for_end(child->pid_fd);
	child_command_check(child);
	assert_false(child_command_runs(child));
	code = child->code;
	child_command_deinit(child);
	assert_int_equal(child->pid, 0);
	return code;
}

static int run(char *line)
{
	struct child_command child = start_shell(line);

	assert_int_equal(child_command_release(&child, "sh"), EXIT_CODE_OK);
	return (int)end_of(&child);
}

static unsigned int count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	(void)closedir(folder);
	return count;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(child_command_reports_exit_code_or_signal)
{
	assert_int_equal(run("exit 0"), 0);
	assert_int_equal(run("exit 7"), 7);
	assert_int_equal(run("kill -KILL $$"), 128 + SIGKILL);
}

FIXTURE_TEST(child_command_runs_with_default_signal_handlers)
{
	assert_int_equal(run("kill -TERM $$; exit 7"), 128 + SIGTERM);
	assert_int_equal(run("kill -PIPE $$; exit 7"), 128 + SIGPIPE);
	assert_int_equal(run("kill -XFSZ $$; exit 7"), 128 + SIGXFSZ);
}

FIXTURE_TEST(child_command_runs_until_its_end_is_observed)
{
	struct child_command child = start_shell("exec sleep 1000"), none = { 0 };

	assert_int_equal(child_command_release(&child, "sh"), EXIT_CODE_OK);
	child_command_check(&child);
	assert_true(child_command_runs(&child));
	child_command_signal(&child, SIGTERM);
	assert_int_equal(end_of(&child), 128 + SIGTERM);
	assert_false(child_command_runs(&none));
	assert_false(
		child_command_runs(&(struct child_command){ .pid = child.pid + 1, .pid_fd = -1 }));
}

FIXTURE_TEST(child_command_returns_shell_code_if_exec_fails)
{
	char *const missing[] = { "/nonexistent/command", NULL };
	char *const no_program[] = { "/dev/null", NULL };
	struct child_command child = start(missing);

	assert_int_equal(child_command_release(&child, missing[0]), EXIT_CODE_NOT_FOUND);
	assert_int_equal(end_of(&child), EXIT_CODE_NOT_FOUND);
	child = start(no_program);
	assert_int_equal(child_command_release(&child, no_program[0]), EXIT_CODE_CANNOT_RUN);
	(void)end_of(&child);
}

FIXTURE_TEST(child_command_reports_end_before_release)
{
	struct child_command child = start_shell("exit 0");

	child_command_signal(&child, SIGKILL);
	wait_for_end(child.pid_fd);
	assert_int_equal(child_command_release(&child, "sh"), EXIT_CODE_OK);
	assert_int_equal(end_of(&child), 128 + SIGKILL);
}

FIXTURE_TEST(child_command_ends_if_never_released)
{
	struct child_command child = start_shell("exit 7");
	_cleanup_fd_ int pid_fd = dup(child.pid_fd);
	pid_t pid = child.pid;
	int status;

	child_command_deinit(&child);
	assert_int_equal(child.pid, 0);
	wait_for_end(pid_fd);
	/* If it ended at once, deinit has taken its status. */
	if (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, ECHILD);
	else
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CODE_NOT_FOUND);
	/* Once more, and of none. */
	child_command_deinit(&child);
}

/* What a command says on its standard output where ours is for records, or is not. */
static void expect_said(bool output_to_stderr, const char *on_stderr)
{
	char *const argv[] = { "/bin/sh", "-c", "echo said", NULL };
	struct child_command child = { 0 };
	int fds[2], stdout_fd = dup(STDOUT_FILENO);
	struct ears ears = ears_open();
	char said[64], out[64] = "";

	(void)pipe(fds);
	(void)dup2(fds[1], STDOUT_FILENO);
	(void)child_command_start(argv, output_to_stderr, &child);
	(void)child_command_release(&child, "sh");
	(void)dup2(stdout_fd, STDOUT_FILENO);
	(void)close(stdout_fd);
	(void)close(fds[1]);
	(void)end_of(&child);
	ears_close(&ears, said, sizeof(said));
	log_set_level(LOG_LEVEL_ERROR);
	assert_true(read(fds[0], out, sizeof(out) - 1) >= 0);
	(void)close(fds[0]);
	assert_string_equal(said, on_stderr);
	assert_string_equal(out, *on_stderr ? "" : "said\n");
}

FIXTURE_TEST(child_command_output_stays_out_of_records)
{
	expect_said(true, "said\n");
	expect_said(false, "");
}

FIXTURE_TEST(child_command_leaves_no_descriptor_open)
{
	unsigned int before = count_descriptors();
	struct child_command child = start_shell("exit 0");

	assert_int_equal(child_command_release(&child, "sh"), EXIT_CODE_OK);
	/* But what tells of its end. */
	assert_int_equal(count_descriptors(), before + 1);
	(void)end_of(&child);
	assert_int_equal(count_descriptors(), before);
	child = start_shell("exec sleep 1000");
	assert_int_equal(child_command_release(&child, "sh"), EXIT_CODE_OK);
	child_command_signal(&child, SIGKILL);
	child_command_deinit(&child);
	assert_int_equal(count_descriptors(), before);
}

FIXTURE_TEST(child_command_start_fails_without_descriptors_and_leaks_none)
{
	unsigned int before = count_descriptors();
	char *const argv[] = { "/bin/true", NULL };
	int lowest = dup(STDERR_FILENO);
	struct rlimit limit, few;

	(void)close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	/* Two for each pipe, and one that tells of its end. */
	for (unsigned int room = 0; room < 5; room++) {
		struct child_command child = { 0 };
		int r;

		few = (struct rlimit){ (rlim_t)lowest + room, limit.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		r = child_command_start(argv, false, &child);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		assert_int_equal(r, -EMFILE);
		assert_false(child_command_runs(&child));
		child_command_deinit(&child);
		assert_int_equal(count_descriptors(), before);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
}
