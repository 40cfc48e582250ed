/* SPDX-License-Identifier: GPL-2.0-only */
#include <fcntl.h>

#include "unit_test.h"

#include "base/cleanup.h"

/* It is one as any other, where standard input is closed; below it is none. */
TEST(cleanup_closes_descriptor_0_and_skips_negative)
{
	int saved = dup(STDIN_FILENO), none = -1, zero = STDIN_FILENO;

	assert_true(saved >= 0);
	cleanup_fd(&none);
	cleanup_fd(&zero);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	cleanup_fd(&saved);
	assert_int_equal(fcntl(saved, F_GETFD), -1);
}

TEST(cleanup_leaves_taken_descriptor_open)
{
	int fd = dup(STDIN_FILENO), taken;

	{
		_cleanup_fd_ int owned = fd;

		taken = TAKE_FD(owned);
		assert_int_equal(owned, -1);
	}
	assert_int_equal(taken, fd);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	cleanup_fd(&fd);
}
