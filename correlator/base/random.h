/* SPDX-License-Identifier: GPL-2.0-only */
/* Random bytes of the kernel's (getrandom(2)). Any thread; never logs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* size_bytes <= 256, which come whole. 0, or -errno of getrandom(2). */
int random_bytes(void *ret_bytes, size_t size_bytes);

/* For seeds and for spreading tries, where none is no error: early in boot, when there is no
 * randomness yet, the time and an address are a little. */
uint64_t random_seed(void);
