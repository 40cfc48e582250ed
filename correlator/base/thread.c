/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret_thread, void *(*run)(void *user), void *user)
{
	sigset_t all, before;
	int error;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(ret_thread, NULL, run, user);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}
