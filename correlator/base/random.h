/* SPDX-License-Identifier: GPL-2.0-only */
/* Random bytes from the kernel (getrandom(2)). Any thread; never logs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* size_bytes <= 256: the request is never partial. Returns 0, or -errno of getrandom(2). */
int random_bytes(void *ret_bytes, size_t size_bytes);

/* For seeds and for spreading retries, where poor randomness is no error: early in boot, before the
 * kernel has any, falls back to the time and an address. */
uint64_t random_seed(void);
