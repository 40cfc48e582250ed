/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/first_process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit_code.h"
#include "base/log.h"

/* Reaps all children that have ended. If child is one of them, exits with its status. */
static void reap(pid_t child)
{
	pid_t ended;
	int status;

	while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
		if (ended == child)
			_exit(WIFSIGNALED(status) ? EXIT_CODE_OF_SIGNAL + WTERMSIG(status)
						  : WEXITSTATUS(status));
}

/* The environment may hold a secret (recorder/forward/secret.h) and is readable in /proc/1/environ.
 */
static void wipe_environment(void)
{
	for (char **each = environ; each && *each; each++)
		explicit_bzero(*each, strlen(*each));
}

static _Noreturn void stay(pid_t child, const sigset_t *signals)
{
	wipe_environment();
	for (;;) {
		siginfo_t info;
		int number = sigwaitinfo(signals, &info);

		if (number == SIGCHLD)
			reap(child);
		else if (number > 0 && info.si_code != SI_KERNEL)
			(void)kill(child, number);
	}
}

int first_process_leave(void)
{
	sigset_t all, before;
	pid_t child;

	if (getpid() != 1)
		return 0;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (child > 0)
		stay(child, &all);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return child < 0 ? log_error_errno(errno, "cannot start") : 0;
}
