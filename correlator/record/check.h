/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks: entries among those of a recording, or of a segment of a spool, by which a bit that
 * changed is found. Each says how many bytes stand before it since the last one, and has the
 * CRC-32C of these and of itself. To a msgpack reader it is one more kind of map:
 *
 *	[EventTime, {"schema": 1, "kind": "check", "bytes": N, "crc32c": C}]
 *
 * always of CHECK_BYTES. C is its last four bytes, and covers the N before it and all of it but
 * these (CRC-32C: RFC 3720, 12.1). What has checks begins with one of no bytes. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CHECK_BYTES = 56,
	/* A writer puts a check behind the entry that reaches this size: a reader holds all that is
	 * not checked yet. */
	CHECK_SPAN_BYTES = 32 * 1024,
};

/* Makes the check of size_bytes, at most INT32_MAX. It takes the EventTime of entry. */
void check_write(const uint8_t *bytes, size_t size_bytes, const uint8_t *entry,
		 uint8_t ret_check[static CHECK_BYTES]);

/* Whether an entry, which is whole, is a check, or was one: a few of its bytes may have changed. No
 * record looks like that. */
bool check_is(const uint8_t *entry, size_t entry_bytes);

/* How many bytes before it a check covers; what it says may be wrong, as long as it does not hold:
 */
size_t check_covered_bytes(const uint8_t check[static CHECK_BYTES]);
/* It is a check, and right: of the size_bytes before it. */
bool check_holds(const uint8_t *check, size_t size_bytes);

/* The offset of the next check, whole or damaged behind its name; size_bytes: there is none. A
 * check that is cut off is not found. */
size_t check_find(const uint8_t *bytes, size_t size_bytes);
