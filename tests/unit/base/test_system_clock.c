/* SPDX-License-Identifier: GPL-2.0-only */
#include <time.h>

#include <pthread.h>

#include "unit_test.h"

#include "base/clock.h"

UNIT_TEST_ALONE;

static struct timespec now; /* of each clock, and its number in front of it */

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	*ret_time = now;
	ret_time->tv_sec += 1000 * clock;
	return 0;
}

TEST(clock_functions_return_nanoseconds_of_their_clock)
{
	now = (struct timespec){ .tv_sec = 5, .tv_nsec = 7 };
	assert_true(clock_wall_ns() ==
		    UINT64_C(5000000007) + UINT64_C(1000000000000) * CLOCK_REALTIME);
	assert_true(clock_monotonic_ns() == UINT64_C(1005000000007));
	assert_true(clock_boot_ns() == UINT64_C(1000000000000) * CLOCK_BOOTTIME + 5000000007);
	assert_true(clock_own_cpu_ns() ==
		    UINT64_C(1000000000000) * CLOCK_PROCESS_CPUTIME_ID + 5000000007);
	assert_true(clock_thread_cpu_ns() ==
		    UINT64_C(1000000000000) * CLOCK_THREAD_CPUTIME_ID + 5000000007);
}

static void *await_end(void *user)
{
	return pthread_barrier_wait(user) < 0 ? user : NULL;
}

/* Its clock's number is its own (pthread_getcpuclockid(3)), and not this thread's. */
TEST(clock_of_thread_differs_between_threads)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	now = (struct timespec){ .tv_sec = 1 << 20 };
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, await_end, &barrier), 0);
	assert_true(clock_cpu_of_thread_ns(thread) != clock_cpu_of_thread_ns(pthread_self()));
	(void)pthread_barrier_wait(&barrier);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_barrier_destroy(&barrier), 0);
}

TEST(clock_timespec_splits_seconds_and_nanoseconds)
{
	struct timespec parted = clock_timespec(UINT64_C(12999999999));

	assert_int_equal(parted.tv_sec, 12);
	assert_int_equal(parted.tv_nsec, 999999999);
}
