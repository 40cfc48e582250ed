/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/net/waiter.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

enum {
	FDS_MAX = 4,
	POLL_MS_MAX = 3600 * 1000,
};

int waiter_init(struct waiter *waiter)
{
	waiter->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	atomic_init(&waiter->stop_ns, 0);
	return waiter->wake_fd < 0 ? -errno : 0;
}

void waiter_deinit(struct waiter *waiter)
{
	if (waiter->wake_fd >= 0)
		(void)close(waiter->wake_fd);
	waiter->wake_fd = -1;
}

void waiter_stop(struct waiter *waiter, uint64_t stop_ns)
{
	atomic_store(&waiter->stop_ns, stop_ns);
	/* Fails only when the counter is full: then it is readable already. */
	(void)eventfd_write(waiter->wake_fd, 1);
}

bool waiter_is_stopping(const struct waiter *waiter)
{
	return atomic_load(&waiter->stop_ns) != 0;
}

/* Rounds up, so that poll(2) does not return before the deadline. */
static int timeout_ms(uint64_t deadline_ns, uint64_t now_ns)
{
	uint64_t ms;

	if (deadline_ns <= now_ns)
		return 0;
	ms = (deadline_ns - now_ns - 1) / NS_PER_MS + 1;
	return ms < POLL_MS_MAX ? (int)ms : POLL_MS_MAX;
}

/* One poll(2). True: one of the caller's descriptors is ready. */
static bool poll_once(const struct waiter *waiter, struct pollfd *fds, nfds_t count, bool wakes,
		      int wait_ms)
{
	struct pollfd all[FDS_MAX + 1];
	int ready;

	assert(count <= FDS_MAX);
	for (nfds_t i = 0; i < count; i++)
		all[i] = fds[i];
	all[count] = (struct pollfd){ .fd = waiter->wake_fd, .events = POLLIN };
	ready = poll(all, count + wakes, wait_ms);
	if (wakes && all[count].revents)
		ready--;
	for (nfds_t i = 0; i < count; i++)
		fds[i].revents = ready > 0 ? all[i].revents : 0;
	return ready > 0;
}

int waiter_poll(const struct waiter *waiter, struct pollfd *fds, nfds_t count, uint64_t deadline_ns)
{
	for (;;) {
		uint64_t stop_ns = atomic_load(&waiter->stop_ns);
		uint64_t now_ns = clock_monotonic_ns();
		uint64_t end_ns = stop_ns && stop_ns < deadline_ns ? stop_ns : deadline_ns;

		if (poll_once(waiter, fds, count, stop_ns == 0, timeout_ms(end_ns, now_ns)))
			return 0;
		if (now_ns < end_ns)
			continue;
		return end_ns == stop_ns ? -ECANCELED : -ETIMEDOUT;
	}
}

int waiter_wait(const struct waiter *waiter, int fd, short events, uint64_t deadline_ns)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };

	return waiter_poll(waiter, &poll_fd, 1, deadline_ns);
}

void waiter_idle(const struct waiter *waiter, struct pollfd *fds, nfds_t count,
		 uint64_t deadline_ns)
{
	while (!waiter_is_stopping(waiter)) {
		uint64_t now_ns = clock_monotonic_ns();

		if (poll_once(waiter, fds, count, true, timeout_ms(deadline_ns, now_ns)) ||
		    now_ns >= deadline_ns)
			return;
	}
}
