/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every wait of the sender's thread: for a descriptor, until a deadline, and not beyond the moment
 * at which another thread wants the sender to end. CLOCK_MONOTONIC nanoseconds.
 * Thread rule: waiter_stop from any thread; the rest is the sender's.
 */
#pragma once

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct waiter {
	int wake_fd;
	_Atomic uint64_t stop_ns; /* 0 = go on */
};

/* 0, or -errno of eventfd(2). */
int waiter_init(struct waiter *waiter);
void waiter_deinit(struct waiter *waiter);

/* All waits end at stop_ns (> 0) at the latest. Those on nothing but time end at once. */
void waiter_stop(struct waiter *waiter, uint64_t stop_ns);
bool waiter_is_stopping(const struct waiter *waiter);

/* poll(2): 0 when one of the descriptors is ready; -ETIMEDOUT; -ECANCELED: stop_ns has come. */
int waiter_poll(const struct waiter *waiter, struct pollfd *fds, nfds_t count,
		uint64_t deadline_ns);
/* The same for one descriptor. */
int waiter_wait(const struct waiter *waiter, int fd, short events, uint64_t deadline_ns);
/* Lets time pass: until the deadline, one of the descriptors is ready, or waiter_stop is called. */
void waiter_idle(const struct waiter *waiter, struct pollfd *fds, nfds_t count,
		 uint64_t deadline_ns);
