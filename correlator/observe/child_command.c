/* SPDX-License-Identifier: GPL-2.0-only */
#include "observe/child_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

/* In the child: waits for a byte (none: the observer is gone), then becomes argv. */
static void run_child(char *const *argv, int release_fd, int failure_fd)
{
	sigset_t none;
	char go;
	int error;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	if (read(release_fd, &go, 1) != 1)
		_exit(127);
	(void)execvp(argv[0], argv);
	error = errno;
	if (write(failure_fd, &error, sizeof(error)) != sizeof(error))
		_exit(126);
	_exit(127);
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
		/* Else it would hold its own release open, and outlive us waiting. */
		(void)close(release_write);
		if (output_to_stderr)
			(void)dup2(STDERR_FILENO, STDOUT_FILENO);
		run_child(argv, release_read, failure_write);
	}
	ret_child->pid = pid;
	ret_child->release_fd = TAKE_FD(release_write);
	ret_child->failure_fd = TAKE_FD(failure_read);
	return 0;
}

int child_command_release(struct child_command *child, const char *name)
{
	int error = 0;
	ssize_t got;

	if (write(child->release_fd, "g", 1) != 1)
		return log_error_errno(errno, "cannot start %s", name);
	(void)close(TAKE_FD(child->release_fd));
	do {
		got = read(child->failure_fd, &error, sizeof(error));
	} while (got < 0 && errno == EINTR);
	(void)close(TAKE_FD(child->failure_fd));
	/* The descriptor closes on exec: no byte means that it worked. */
	if (got != sizeof(error))
		return 0;
	(void)waitpid(child->pid, NULL, 0);
	child->pid = 0;
	return log_error_errno(error, "cannot run %s", name);
}

void child_command_deinit(struct child_command *child)
{
	if (child->pid <= 0)
		return;
	if (child->release_fd >= 0)
		(void)close(TAKE_FD(child->release_fd));
	if (child->failure_fd >= 0)
		(void)close(TAKE_FD(child->failure_fd));
	(void)waitpid(child->pid, NULL, WNOHANG);
	child->pid = 0;
}
