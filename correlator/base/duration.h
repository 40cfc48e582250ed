/* Durations as users write them. Pure. */
#pragma once

#include <stdint.h>

/*
 * Parses "10", "1.5s", "500ms", "2m", "1h" (no unit = seconds) into nanoseconds. 0, or -EINVAL:
 * not a duration, negative, or above ten years.
 */
int duration_parse(const char *text, uint64_t *ret_ns);

/* CLOCK_MONOTONIC and CLOCK_REALTIME now. */
uint64_t duration_monotonic_ns(void);
uint64_t duration_wall_ns(void);
/* CLOCK_BOOTTIME: what /proc's start times count from; runs on in suspend. */
uint64_t duration_boot_ns(void);
/* CPU time that this process has used, all threads. */
uint64_t duration_own_cpu_ns(void);
