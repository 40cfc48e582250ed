/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"

/* The handler's message: a handler gets no argument. */
static const char *spared_saying;

static void fill(sigset_t *ret_signals)
{
	(void)sigemptyset(ret_signals);
	(void)sigaddset(ret_signals, SIGINT);
	(void)sigaddset(ret_signals, SIGTERM);
	(void)sigaddset(ret_signals, SIGHUP);
}

static bool is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static int catch_signals(sigset_t *signals)
{
	int fd;

	for (int number = 1; number < NSIG; number++)
		if (number != SIGINT && is_ignored(number))
			(void)sigdelset(signals, number);
	if (sigprocmask(SIG_BLOCK, signals, NULL) < 0)
		return log_error_errno(errno, "cannot block signals");
	fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? log_error_errno(errno, "cannot catch signals") : fd;
}

int signals_catch(void)
{
	sigset_t signals;

	fill(&signals);
	return catch_signals(&signals);
}

int signals_catch_for_command(void)
{
	static const int told_by[] = { SIGUSR1, SIGUSR2, SIGQUIT, SIGWINCH,
				       SIGTTIN, SIGTTOU, SIGALRM, SIGCONT };
	sigset_t signals;

	fill(&signals);
	for (size_t i = 0; i < sizeof(told_by) / sizeof(told_by[0]); i++)
		(void)sigaddset(&signals, told_by[i]);
	return catch_signals(&signals);
}

int signals_read(int fd, bool *ret_is_typed)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	*ret_is_typed = info.ssi_code == SI_KERNEL;
	return (int)info.ssi_signo;
}

bool signals_are_pending(void)
{
	sigset_t signals, pending;

	fill(&signals);
	return sigpending(&pending) == 0 && sigandset(&pending, &pending, &signals) == 0 &&
	       !sigisemptyset(&pending);
}

static void on_spared(int number)
{
	(void)number;
	(void)!write(STDERR_FILENO, spared_saying, strlen(spared_saying));
}

void signals_spare_interrupt(const char *saying)
{
	struct sigaction before,
		once = { .sa_handler = on_spared, .sa_flags = SA_RESTART | SA_RESETHAND };

	if (sigaction(SIGINT, NULL, &before) < 0 || before.sa_handler == SIG_IGN)
		return;
	spared_saying = saying;
	(void)sigaction(SIGINT, &once, NULL);
}

void signals_obey_interrupt(void)
{
	struct sigaction now, obey = { .sa_handler = SIG_DFL };

	if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == on_spared)
		(void)sigaction(SIGINT, &obey, NULL);
}
