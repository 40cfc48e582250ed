/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries that carry a number, of a process or of nobody known (0), all of one size:
 * [EventTime, {"pid": pid, "no": number}].
 */
#pragma once

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct __attribute__((packed)) numbered_entry {
	uint8_t head[3]; /* 92 d7 00 */
	uint32_t seconds;
	uint32_t ns;
	uint8_t pid_name[6]; /* 82 a3 pid, and ce: 32 bits */
	uint32_t pid;
	uint8_t name[4]; /* a2 no, and cf: 64 bits */
	uint64_t number;
};

static inline struct numbered_entry number_entry_of(uint32_t pid, uint64_t number)
{
	return (struct numbered_entry){ .head = { 0x92, 0xd7, 0x00 },
					.seconds = htobe32(1700000000),
					.ns = htobe32((uint32_t)number),
					.pid_name = { 0x82, 0xa3, 'p', 'i', 'd', 0xce },
					.pid = htobe32(pid),
					.name = { 0xa2, 'n', 'o', 0xcf },
					.number = htobe64(number) };
}

static inline struct numbered_entry number_entry(uint64_t number)
{
	return number_entry_of(0, number);
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
