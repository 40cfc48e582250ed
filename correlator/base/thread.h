/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads other than the measuring one. */
#pragma once

#include <pthread.h>

/*
 * Starts a thread with all signals blocked: the main thread handles signals, and a broken pipe is
 * an error of the call. Returns 0, or -errno of pthread_create(3).
 */
int thread_start(pthread_t *ret_thread, void *(*run)(void *user), void *user);
