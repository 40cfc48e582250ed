/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's clocks, in nanoseconds. Any thread. */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_US ((uint64_t)1000)
#define NS_PER_MS ((uint64_t)1000000)
#define NS_PER_S  ((uint64_t)1000000000)

/* Current CLOCK_MONOTONIC and CLOCK_REALTIME. */
uint64_t clock_monotonic_ns(void);
uint64_t clock_wall_ns(void);
/* CLOCK_BOOTTIME: the base of /proc's start times; keeps running in suspend. */
uint64_t clock_boot_ns(void);
/* CPU time of this process, all threads. */
uint64_t clock_own_cpu_ns(void);
/* CPU time of the calling thread, and of another thread that has not been joined. */
uint64_t clock_thread_cpu_ns(void);
uint64_t clock_cpu_of_thread_ns(pthread_t thread);

static inline uint64_t clock_earliest(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
				  .tv_nsec = (long)(ns % NS_PER_S) };
}
