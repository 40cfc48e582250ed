/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/child_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/open_files.h"
#include "base/rights.h"

/* In the child: waits for a byte (none: the observer is gone), then becomes argv. */
static void run_child(char *const *argv, int release_fd, int failure_fd)
{
	sigset_t none;
	char go;
	int error;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_DFL);
	if (read(release_fd, &go, 1) != 1)
		_exit(EXIT_CODE_NOT_FOUND);
	(void)rights_lower();
	open_files_restore();
	(void)execvp(argv[0], argv);
	error = errno;
	if (write(failure_fd, &error, sizeof(error)) != sizeof(error))
		_exit(EXIT_CODE_CANNOT_RUN);
	_exit(EXIT_CODE_NOT_FOUND);
}

int child_command_start(char *const *argv, bool output_to_stderr, struct child_command *ret_child)
{
	_cleanup_fd_ int release_read = -1;
	_cleanup_fd_ int release_write = -1;
	_cleanup_fd_ int failure_read = -1;
	_cleanup_fd_ int failure_write = -1;
	int pipes[2];
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return log_error_errno(errno, "cannot start %s", argv[0]);
	release_read = pipes[0];
	release_write = pipes[1];
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return log_error_errno(errno, "cannot start %s", argv[0]);
	failure_read = pipes[0];
	failure_write = pipes[1];
	pid = fork();
	if (pid < 0)
		return log_error_errno(errno, "cannot start %s", argv[0]);
	if (pid == 0) {
		/* Otherwise it keeps the pipe open itself, and waits on after we are gone. */
		(void)close(release_write);
		if (output_to_stderr)
			(void)dup2(STDERR_FILENO, STDOUT_FILENO);
		run_child(argv, release_read, failure_write);
	}
	ret_child->pid_fd = pidfd_open(pid, 0);
	if (ret_child->pid_fd < 0)
		return log_error_errno(errno, "cannot start %s", argv[0]);
	ret_child->pid = pid;
	ret_child->release_fd = TAKE_FD(release_write);
	ret_child->failure_fd = TAKE_FD(failure_read);
	return 0;
}

static enum exit_code explain_exec(int error, const char *name)
{
	(void)log_error_errno(error, "cannot run %s", name);
	return error == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_CANNOT_RUN;
}

enum exit_code child_command_release(struct child_command *child, const char *name)
{
	int error = 0;
	ssize_t got;

	/* EPIPE: a signal was faster; child_command_check() will see its effect. */
	if (write(child->release_fd, "g", 1) != 1 && errno != EPIPE) {
		(void)log_error_errno(errno, "cannot start %s", name);
		return EXIT_CODE_FAILURE;
	}
	(void)close(TAKE_FD(child->release_fd));
	do {
		got = read(child->failure_fd, &error, sizeof(error));
	} while (got < 0 && errno == EINTR);
	(void)close(TAKE_FD(child->failure_fd));
	/* The descriptor closes on exec: no byte means that it worked. */
	return got == sizeof(error) ? explain_exec(error, name) : EXIT_CODE_OK;
}

bool child_command_runs(const struct child_command *child)
{
	return child->pid > 0 && child->pid_fd >= 0;
}

void child_command_check(struct child_command *child)
{
	int status;

	if (!child_command_runs(child) || waitpid(child->pid, &status, WNOHANG) <= 0)
		return;
	child->code =
		WIFSIGNALED(status) ? EXIT_CODE_OF_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
	(void)close(TAKE_FD(child->pid_fd));
}

void child_command_signal(const struct child_command *child, int number)
{
	if (child_command_runs(child))
		(void)pidfd_send_signal(child->pid_fd, number, NULL, 0);
}

void child_command_deinit(struct child_command *child)
{
	if (child->pid <= 0)
		return;
	if (child->release_fd >= 0)
		(void)close(TAKE_FD(child->release_fd));
	if (child->failure_fd >= 0)
		(void)close(TAKE_FD(child->failure_fd));
	child_command_check(child);
	if (child->pid_fd >= 0)
		(void)close(TAKE_FD(child->pid_fd));
	child->pid = 0;
}
