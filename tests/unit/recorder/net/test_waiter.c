/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "recorder/net/stopper.h"

UNIT_TEST_ALONE;

#define SHORT_NS (20 * NS_PER_MS)
#define LONG_NS	 (3600 * NS_PER_S) /* no test waits for it */

struct fixture {
	struct waiter waiter;
	int fds[2]; /* a pipe: empty, so never readable, and always writable */
};

/* Instead of libc's: a clock that stands but for what poll(2) waits for, once it is set. */
static uint64_t stopped_ns;
static int waits_ms[4];
static unsigned int wait_count;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	if (clock != CLOCK_MONOTONIC || !stopped_ns)
		return (int)syscall(SYS_clock_gettime, clock, ret_time);
	*ret_time = clock_timespec(stopped_ns);
	return 0;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };

	if (!stopped_ns)
		return ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);
	waits_ms[wait_count++ % 4] = timeout_ms;
	stopped_ns += (uint64_t)timeout_ms * NS_PER_MS;
	return ppoll(fds, count, &(struct timespec){ 0 }, NULL);
}

static int setup(void **state)
{
	static struct fixture fixture;

	*state = &fixture;
	return waiter_init(&fixture.waiter) < 0 || pipe2(fixture.fds, O_CLOEXEC) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	waiter_deinit(&fixture->waiter);
	(void)close(fixture->fds[0]);
	(void)close(fixture->fds[1]);
	return 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(waiter_ends_wait_at_deadline_and_not_before)
{
	struct fixture *fixture = *state;
	uint64_t deadline_ns = clock_monotonic_ns() + SHORT_NS;

	assert_int_equal(waiter_wait(&fixture->waiter, fixture->fds[0], POLLIN, deadline_ns),
			 -ETIMEDOUT);
	assert_true(clock_monotonic_ns() >= deadline_ns);
	deadline_ns = clock_monotonic_ns() + SHORT_NS;
	waiter_idle(&fixture->waiter, NULL, 0, deadline_ns);
	assert_true(clock_monotonic_ns() >= deadline_ns);
}

/* Rounded up, an hour at a time; at the deadline itself it is over. */
FIXTURE_TEST(waiter_rounds_timeout_up_to_whole_milliseconds)
{
	static const struct {
		uint64_t ns;
		int waits_ms[3];
	} cases[] = {
		{ 0, { 0 } },
		{ 1, { 1, 0 } },
		{ NS_PER_MS, { 1, 0 } },
		{ NS_PER_MS + 1, { 2, 0 } },
		{ 3600 * NS_PER_S, { 3600000, 0 } },
		{ 3600 * NS_PER_S + 1, { 3600000, 1, 0 } },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		bool is_idle = i % 2;

		memset(waits_ms, -1, sizeof(waits_ms));
		wait_count = 0;
		stopped_ns = 5 * NS_PER_S;
		if (is_idle)
			waiter_idle(&fixture->waiter, NULL, 0, stopped_ns + cases[i / 2].ns);
		else
			assert_int_equal(waiter_wait(&fixture->waiter, fixture->fds[0], POLLIN,
						     stopped_ns + cases[i / 2].ns),
					 -ETIMEDOUT);
		for (unsigned int j = 0; j < wait_count; j++)
			assert_int_equal(waits_ms[j], cases[i / 2].waits_ms[j]);
		assert_int_equal(waits_ms[wait_count - 1], 0);
	}
	stopped_ns = 0;
}

FIXTURE_TEST(waiter_reports_each_of_four_descriptors)
{
	struct fixture *fixture = *state;
	struct pollfd fds[4];

	for (size_t ready = 0; ready < 4; ready++) {
		for (size_t i = 0; i < 4; i++)
			fds[i] = (struct pollfd){ .fd = fixture->fds[i == ready],
						  .events = i == ready ? POLLOUT : POLLIN,
						  .revents = POLLNVAL };
		assert_int_equal(waiter_poll(&fixture->waiter, fds, 4, UINT64_MAX), 0);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(fds[i].revents, i == ready ? POLLOUT : 0);
	}
	fds[3].fd = -1;
	assert_int_equal(waiter_poll(&fixture->waiter, fds, 4, 1), -ETIMEDOUT);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(fds[i].revents, 0);
}

/* Where a descriptor may be 0; and nobody inherits it. */
TEST(waiter_works_with_stdin_closed)
{
	int saved = dup(STDIN_FILENO);
	struct waiter waiter;

	assert_true(saved >= 0);
	assert_int_equal(close(STDIN_FILENO), 0);
	assert_int_equal(waiter_init(&waiter), 0);
	assert_int_equal(waiter.wake_fd, 0);
	assert_int_equal(fcntl(waiter.wake_fd, F_GETFD), FD_CLOEXEC);
	waiter_deinit(&waiter);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(saved), 0);
	/* Once more closes nothing of others. */
	waiter_deinit(&waiter);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
}

FIXTURE_TEST(waiter_reports_ready_descriptor_after_deadline)
{
	struct fixture *fixture = *state;
	struct pollfd fds[] = { { .fd = fixture->fds[0], .events = POLLIN },
				{ .fd = fixture->fds[1], .events = POLLOUT } };

	assert_int_equal(waiter_poll(&fixture->waiter, fds, 2, UINT64_MAX), 0);
	assert_int_equal(fds[0].revents, 0);
	assert_int_equal(fds[1].revents, POLLOUT);
	assert_int_equal(waiter_wait(&fixture->waiter, fixture->fds[1], POLLOUT, 1), 0);
	assert_int_equal(waiter_wait(&fixture->waiter, fixture->fds[0], POLLIN, 1), -ETIMEDOUT);
	waiter_idle(&fixture->waiter, fds, 2, UINT64_MAX);
	assert_int_equal(fds[1].revents, POLLOUT);
	/* Or only passed over. */
	fds[1].fd = -1;
	assert_int_equal(waiter_poll(&fixture->waiter, fds, 2, 1), -ETIMEDOUT);
	assert_int_equal(fds[1].revents, 0);
}

FIXTURE_TEST(waiter_ends_wait_on_stop_from_another_thread)
{
	struct fixture *fixture = *state;
	struct stopper stopper;

	assert_false(waiter_is_stopping(&fixture->waiter));
	start_stopper(&stopper, &fixture->waiter, 1);
	assert_int_equal(waiter_wait(&fixture->waiter, fixture->fds[0], POLLIN, UINT64_MAX),
			 -ECANCELED);
	end_stopper(&stopper);
	assert_true(waiter_is_stopping(&fixture->waiter));
	/* And all that come after it; but what is ready is ready. */
	assert_int_equal(waiter_wait(&fixture->waiter, fixture->fds[0], POLLIN, UINT64_MAX),
			 -ECANCELED);
	assert_int_equal(waiter_wait(&fixture->waiter, fixture->fds[1], POLLOUT, UINT64_MAX), 0);
}

FIXTURE_TEST(waiter_continues_wait_until_stop_time)
{
	struct fixture *fixture = *state;
	uint64_t stop_ns = clock_monotonic_ns() + SHORT_NS;

	waiter_stop(&fixture->waiter, stop_ns);
	assert_int_equal(waiter_wait(&fixture->waiter, fixture->fds[0], POLLIN, 1), -ETIMEDOUT);
	assert_int_equal(waiter_wait(&fixture->waiter, fixture->fds[1], POLLOUT, UINT64_MAX), 0);
	assert_int_equal(waiter_wait(&fixture->waiter, fixture->fds[0], POLLIN, UINT64_MAX),
			 -ECANCELED);
	assert_true(clock_monotonic_ns() >= stop_ns);
}

/* Nothing is lost by it: there is nothing to wait for. */
FIXTURE_TEST(waiter_ends_idling_as_soon_as_stop_is_set)
{
	struct fixture *fixture = *state;
	uint64_t stop_ns = clock_monotonic_ns() + LONG_NS;
	struct stopper stopper;

	start_stopper(&stopper, &fixture->waiter, stop_ns);
	waiter_idle(&fixture->waiter, NULL, 0, UINT64_MAX);
	end_stopper(&stopper);
	waiter_idle(&fixture->waiter, NULL, 0, UINT64_MAX);
	assert_true(clock_monotonic_ns() < stop_ns);
}
