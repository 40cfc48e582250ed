/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads beside the one that measures. */
#pragma once

#include <pthread.h>

/*
 * Starts a thread with all signals blocked: they are the main thread's business, and a broken pipe
 * is an error of the call. 0, or -errno of pthread_create(3).
 */
int thread_start(pthread_t *ret_thread, void *(*run)(void *user), void *user);
