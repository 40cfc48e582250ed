/* SPDX-License-Identifier: GPL-2.0-only */
/* Entries that carry a number, all of one size: [EventTime, {"n": number}]. */
#pragma once

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct __attribute__((packed)) numbered_entry {
	uint8_t head[3]; /* 92 d7 00 */
	uint32_t seconds;
	uint32_t ns;
	uint8_t name[4]; /* 81 a1 n, and cf: 64 bits */
	uint64_t number;
};

static inline struct numbered_entry number_entry(uint64_t number)
{
	return (struct numbered_entry){ .head = { 0x92, 0xd7, 0x00 },
					.seconds = htobe32(1700000000),
					.ns = htobe32((uint32_t)number),
					.name = { 0x81, 0xa1, 'n', 0xcf },
					.number = htobe64(number) };
}

static inline uint64_t numbered_time_ns(uint64_t number)
{
	return UINT64_C(1700000000000000000) + number;
}

/* The number of the index-th of them. */
static inline uint64_t entry_number(const void *entries, size_t index)
{
	struct numbered_entry entry;

	memcpy(&entry, (const struct numbered_entry *)entries + index, sizeof(entry));
	return be64toh(entry.number);
}
