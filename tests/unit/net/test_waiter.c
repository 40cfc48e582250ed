/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/clock.h"
#include "net/stopper.h"

#define SHORT_NS (20 * NS_PER_MS)
#define LONG_NS	 (3600 * NS_PER_S) /* no test waits for it */

struct fixture {
	struct waiter waiter;
	int fds[2]; /* a pipe: empty, so never readable, and always writable */
};

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

static void a_wait_ends_at_its_deadline_and_not_before(void **state)
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

static void what_is_ready_is_told_also_when_it_is_late(void **state)
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

static void a_stop_from_another_thread_ends_a_wait(void **state)
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

static void until_the_stop_comes_a_wait_goes_on(void **state)
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
static void idling_ends_as_soon_as_a_stop_is_known(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_wait_ends_at_its_deadline_and_not_before, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_ready_is_told_also_when_it_is_late, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_stop_from_another_thread_ends_a_wait, setup,
						teardown),
		cmocka_unit_test_setup_teardown(until_the_stop_comes_a_wait_goes_on, setup,
						teardown),
		cmocka_unit_test_setup_teardown(idling_ends_as_soon_as_a_stop_is_known, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("waiter", tests, NULL, NULL);
}
