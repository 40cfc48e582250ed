/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>

#include "unit_test.h"

#include "base/thread.h"

static void *read_mask(void *user)
{
	(void)pthread_sigmask(SIG_BLOCK, NULL, user);
	return user;
}

TEST(thread_blocks_signals_and_starter_keeps_its_mask)
{
	sigset_t own, other, after;
	pthread_t thread;
	void *returned;

	(void)sigemptyset(&own);
	(void)sigaddset(&own, SIGUSR1);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &own, NULL), 0);
	(void)sigemptyset(&other);
	assert_int_equal(thread_start(&thread, read_mask, &other), 0);
	assert_int_equal(pthread_join(thread, &returned), 0);
	assert_ptr_equal(returned, &other);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
	for (int signal = 1; signal < SIGSYS; signal++) {
		assert_int_equal(sigismember(&after, signal), signal == SIGUSR1);
		/* These two cannot be. */
		assert_int_equal(sigismember(&other, signal),
				 signal != SIGKILL && signal != SIGSTOP);
	}
}
