/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All waits of the sender's thread: for a descriptor, until a deadline, and not beyond the time at
 * which another thread wants the sender to end. CLOCK_MONOTONIC nanoseconds.
 * Thread rule: waiter_stop from any thread; the rest is the sender's.
 */
#pragma once

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct waiter {
	int wake_fd;
	_Atomic uint64_t stop_ns; /* 0 = not stopping */
};

/* 0, or -errno of eventfd(2). */
int waiter_init(struct waiter *waiter);
void waiter_deinit(struct waiter *waiter);

/* waiter_poll and waiter_wait end at stop_ns (> 0) at the latest; waiter_idle ends at once. */
void waiter_stop(struct waiter *waiter, uint64_t stop_ns);
bool waiter_is_stopping(const struct waiter *waiter);

/* poll(2): 0 when one of the descriptors is ready; -ETIMEDOUT; -ECANCELED: stop_ns has come. */
int waiter_poll(const struct waiter *waiter, struct pollfd *fds, nfds_t count,
		uint64_t deadline_ns);
/* The same for one descriptor. */
int waiter_wait(const struct waiter *waiter, int fd, short events, uint64_t deadline_ns);
/* Waits until the deadline, until a descriptor is ready, or until waiter_stop is called. */
void waiter_idle(const struct waiter *waiter, struct pollfd *fds, nfds_t count,
		 uint64_t deadline_ns);
