/* SPDX-License-Identifier: GPL-2.0-only */
/* Durations as users write them. Pure. */
#pragma once

#include <stdint.h>

/*
 * Parses "10", "1.5s", "500ms", "2m", "1h" (no unit = seconds) into nanoseconds. Returns 0, or
 * -EINVAL: not a duration, negative, or above ten years.
 */
int duration_parse(const char *text, uint64_t *ret_ns);
