/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that stops a waiter once the thread that started it sleeps: whatever that sleeps in is
 * then what the stop has to end.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/thread.h"
#include "recorder/net/waiter.h"

struct stopper {
	struct waiter *waiter;
	uint64_t stop_ns;
	pid_t tid; /* of the thread that is to sleep */
	pthread_t thread;
};

static inline void await_sleep(pid_t tid)
{
	char path[64], line[512] = "";
	const char *after_name = NULL;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	while (!after_name || after_name[2] != 'S') {
		FILE *file = fopen(path, "re");

		if (file && fgets(line, sizeof(line), file))
			after_name = strrchr(line, ')');
		if (file)
			(void)fclose(file);
	}
}

static inline void *stop_the_sleeper(void *user)
{
	struct stopper *stopper = user;

	await_sleep(stopper->tid);
	waiter_stop(stopper->waiter, stopper->stop_ns);
	return NULL;
}

/* The caller sleeps next, then ends the stopper. */
static inline void start_stopper(struct stopper *stopper, struct waiter *waiter, uint64_t stop_ns)
{
	*stopper = (struct stopper){ .waiter = waiter, .stop_ns = stop_ns, .tid = gettid() };
	assert_int_equal(thread_start(&stopper->thread, stop_the_sleeper, stopper), 0);
}

static inline void end_stopper(struct stopper *stopper)
{
	assert_int_equal(pthread_join(stopper->thread, NULL), 0);
}
