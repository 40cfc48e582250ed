/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Validating and walking the target's state table. Pure: the same text runs in the kernel, in
 * the unit tests, under the fuzzer and in BPF_PROG_TEST_RUN. Every input is hostile.
 */
#pragma once

#include <linux/types.h>

#include <correlator/limits.h>
#include <correlator/state_abi.h>

/* User addresses end below 2^56 on every 64-bit Linux (x86-64 with LA57); 0 page excluded. */
static inline int table_pointer_is_sane(__u64 pointer)
{
	return pointer >= 4096 && pointer < (1ULL << 56) && (pointer & 7) == 0;
}

/* capacity a power of two in 1..STATE_CAPACITY_MAX, size <= capacity. */
static inline int table_header_is_sane(const struct state_header *header)
{
	__u64 capacity = header->capacity;

	return capacity >= 1 && capacity <= STATE_CAPACITY_MAX &&
	       (capacity & (capacity - 1)) == 0 && header->size <= capacity;
}

/*
 * Looks key up in pairs[0..capacity), as the publisher inserts: from key & (capacity - 1), linear,
 * wrapping, until the key, an empty slot, or capacity slots. pairs must have room for
 * STATE_CAPACITY_MAX entries; capacity must have passed table_header_is_sane().
 * Returns the slot, or -1. IDs of ordinary symbols share their low nibble, so small tables always
 * collide and a long probe is the common case.
 */
static inline int table_probe_find(const struct state_pair *pairs, __u64 capacity, __u64 key)
{
	__u64 mask = (capacity - 1) & (STATE_CAPACITY_MAX - 1);

	if (!key)
		return -1;
	for (__u32 step = 0; step < STATE_CAPACITY_MAX; step++) {
		__u64 slot = (key + step) & mask;

		if (step > mask)
			break;
		if (pairs[slot].key == key)
			return (int)slot;
		if (!pairs[slot].key)
			break;
	}
	return -1;
}
