/* SPDX-License-Identifier: GPL-2.0-only */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/signals.h"

static void what_ends_a_command_is_read_and_kills_nobody(void **state)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGTERM };
	struct pollfd fd = { .events = POLLIN };
	unsigned int seen = 0;
	bool is_typed = true;

	(void)state;
	fd.fd = signals_catch();
	assert_true(fd.fd >= 0);
	assert_true(fcntl(fd.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(signals_read(fd.fd, &is_typed), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(raise(ends[i]), 0);
		assert_int_equal(poll(&fd, 1, 0), 1);
		assert_int_equal(signals_read(fd.fd, &is_typed), ends[i]);
		assert_false(is_typed);
		assert_int_equal(signals_read(fd.fd, &is_typed), 0);
	}
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(raise(ends[i]), 0);
	for (size_t i = 0; i < 3; i++)
		seen |= 1U << signals_read(fd.fd, &is_typed);
	assert_int_equal(seen, 1U << SIGHUP | 1U << SIGINT | 1U << SIGTERM);
	assert_int_equal(close(fd.fd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_ends_a_command_is_read_and_kills_nobody),
	};

	return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
