/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/check.h"

#include <string.h>

#include <isa-l/crc.h>

#include "record/entry_scan.h"
#include "record/token.h"

enum {
	TIME_OFFSET = 3,
	TIME_BYTES = 8,
	/* The map's mark (four pairs), "schema" 1, and the kind: no other entry has these bytes
	 * there. The first of them is rare: a record has it once, for its own map. */
	MAP_OFFSET = 11,
	MAP_BYTES = 22,
	COUNT_OFFSET = 40,
	SUM_OFFSET = CHECK_BYTES - 4,
	/* An entry that differs from the model in at most this many bytes is still a (damaged)
	 * check. */
	CHANGED_BYTES_MAX = 3,
};

/* Template of a check, with zeros in place of its values. */
static const uint8_t model[CHECK_BYTES + 1] = "\x92\xd7\0\0\0\0\0\0\0\0\0\xde\0\x04"
					      "\xa6schema\x01\xa4kind\xa5"
					      "check\xa5"
					      "bytes\xce\0\0\0\0\xa6"
					      "crc32c\xce\0\0\0\0";

static void put_number(uint8_t *ret_bytes, uint32_t number)
{
	const uint32_t big_endian = htobe32(number);

	memcpy(ret_bytes, &big_endian, sizeof(big_endian));
}

/*
 * The library leaves the upper halves of vector registers in use (crc32_iscsi_by16_10.asm, ISA-L
 * 2.30), which makes each later SSE instruction slower: sending slowed down by a quarter.
 */
#ifdef __x86_64__
__attribute__((target("avx"))) static void clear_vectors(void)
{
	__builtin_ia32_vzeroupper();
}
#endif

static void end_sums(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx"))
		clear_vectors();
#endif
}

/* The library only reads bytes, but its prototype lacks const. */
static uint32_t sum(uint32_t before, const uint8_t *bytes, size_t size_bytes)
{
	return crc32_iscsi((unsigned char *)(uintptr_t)bytes, (int)size_bytes, before);
}

/* The sum of the bytes and of the check, excluding the sum in it. */
static uint32_t sum_with(const uint8_t *bytes, size_t size_bytes, const uint8_t *check)
{
	uint32_t inverted = UINT32_MAX;

	if (size_bytes)
		inverted = sum(inverted, bytes, size_bytes);
	inverted = sum(inverted, check, SUM_OFFSET);
	end_sums();
	return ~inverted;
}

void check_write(const uint8_t *bytes, size_t size_bytes, const uint8_t *entry,
		 uint8_t ret_check[static CHECK_BYTES])
{
	memcpy(ret_check, model, CHECK_BYTES);
	memcpy(ret_check + TIME_OFFSET, entry + TIME_OFFSET, TIME_BYTES);
	put_number(ret_check + COUNT_OFFSET, (uint32_t)size_bytes);
	put_number(ret_check + SUM_OFFSET, sum_with(bytes, size_bytes, ret_check));
}

static bool is_value(size_t offset)
{
	return (offset >= TIME_OFFSET && offset < TIME_OFFSET + TIME_BYTES) ||
	       (offset >= COUNT_OFFSET && offset < COUNT_OFFSET + 4) || offset >= SUM_OFFSET;
}

static unsigned int count_changed(const uint8_t *check)
{
	unsigned int changed = 0;

	for (size_t i = 0; i < CHECK_BYTES; i++)
		changed += !is_value(i) && check[i] != model[i];
	return changed;
}

bool check_is(const uint8_t *entry, size_t entry_bytes)
{
	return entry_bytes == CHECK_BYTES && count_changed(entry) <= CHANGED_BYTES_MAX;
}

size_t check_covered_bytes(const uint8_t check[static CHECK_BYTES])
{
	return token_number(check + COUNT_OFFSET, 4);
}

bool check_holds(const uint8_t *check, size_t size_bytes)
{
	return count_changed(check) == 0 && check_covered_bytes(check) == size_bytes &&
	       token_number(check + SUM_OFFSET, 4) ==
		       sum_with(check - size_bytes, size_bytes, check);
}

size_t check_find(const uint8_t *bytes, size_t size_bytes)
{
	const uint8_t *map = model + MAP_OFFSET;

	for (size_t at = 0; at + CHECK_BYTES <= size_bytes; at++) {
		const uint8_t *from = bytes + at + MAP_OFFSET;
		const uint8_t *found = memchr(from, map[0], size_bytes - CHECK_BYTES - at + 1);

		if (!found)
			break;
		at += (size_t)(found - from);
		if (memcmp(found, map, MAP_BYTES) == 0)
			return at;
	}
	return size_bytes;
}
