/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time that passes only where the code under test lets it: a wait on nothing but time ends at once,
 * that much later; a wait for a peer lasts until the peer does something. Included once, by a test
 * whose other threads wait without a limit. What was waited for is written down.
 */
#pragma once

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	VIRTUAL_PAUSES_MAX = 256,
};

struct virtual_time {
	_Atomic uint64_t now_ns; /* CLOCK_MONOTONIC */
	_Atomic uint64_t random; /* of random_seed */
	atomic_bool flies; /* also where a peer is waited for */
	atomic_uint pause_count;
	atomic_int pauses_ms[VIRTUAL_PAUSES_MAX]; /* on nothing but time */
	atomic_int last_wait_ms; /* for one peer, and nothing else; 0 = none yet */
	atomic_int idle_fd; /* of the peer that is watched while there is nothing to do */
};

static struct virtual_time virtual_time;

static inline void virtual_time_reset(void)
{
	memset(&virtual_time, 0, sizeof(virtual_time));
	virtual_time.now_ns = UINT64_C(1000000000000);
}

static inline void virtual_time_pass(int ms)
{
	virtual_time.now_ns += (uint64_t)ms * 1000000;
}

/* Instead of libc's, the three below. */
int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	uint64_t now_ns = virtual_time.now_ns;

	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, ret_time);
	*ret_time = (struct timespec){ (time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000) };
	return 0;
}

ssize_t getrandom(void *ret_bytes, size_t size_bytes, unsigned int flags)
{
	uint64_t random = virtual_time.random;

	if (!(flags & GRND_NONBLOCK) || size_bytes != sizeof(random))
		return syscall(SYS_getrandom, ret_bytes, size_bytes, flags);
	memcpy(ret_bytes, &random, sizeof(random));
	return sizeof(random);
}

static inline bool is_socket(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	const struct timespec none = { 0 };
	int ready = ppoll(fds, count, &none, NULL);
	bool is_pause = count == 1 && !is_socket(fds[0].fd);

	if (count == 3)
		virtual_time.idle_fd = fds[1].fd;
	if (ready != 0 || timeout_ms == 0)
		return ready;
	if (timeout_ms < 0)
		return ppoll(fds, count, NULL, NULL);
	if (is_pause)
		virtual_time.pauses_ms[virtual_time.pause_count++ % VIRTUAL_PAUSES_MAX] =
			timeout_ms;
	else if (count == 1)
		virtual_time.last_wait_ms = timeout_ms;
	if (!is_pause && !virtual_time.flies)
		return ppoll(fds, count, NULL, NULL);
	virtual_time_pass(timeout_ms);
	return 0;
}
