/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks: entries in a recording, or in a segment of a spool, that reveal a changed bit. Each holds
 * the number of bytes before it since the last check, and the CRC-32C of these bytes and of itself.
 * To a msgpack reader it is one more kind of map:
 *
 *	[EventTime, {"schema": 1, "kind": "check", "bytes": N, "crc32c": C}]
 *
 * always of CHECK_BYTES. C is its last four bytes, and covers the N bytes before the check and the
 * check itself except C (CRC-32C: RFC 3720, 12.1). Data with checks begins with a check of no
 * bytes. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CHECK_BYTES = 56,
	/* A writer adds a check after the entry that reaches this size: a reader buffers everything
	 * that is not checked yet. */
	CHECK_SPAN_BYTES = 32 * 1024,
};

/* Makes the check of size_bytes, at most INT32_MAX. Copies the EventTime of entry. */
void check_write(const uint8_t *bytes, size_t size_bytes, const uint8_t *entry,
		 uint8_t ret_check[static CHECK_BYTES]);

/* Whether a complete entry is a check, or was one before a few of its bytes changed. No record
 * looks like that. */
bool check_is(const uint8_t *entry, size_t entry_bytes);

/* The number of bytes before it that a check claims to cover; untrusted until check_holds(). */
size_t check_covered_bytes(const uint8_t check[static CHECK_BYTES]);
/* Whether check is intact and matches the size_bytes before it. */
bool check_holds(const uint8_t *check, size_t size_bytes);

/* Returns the offset of the next check, whole or damaged after its name; size_bytes if there is
 * none. A check that is cut off is not found. */
size_t check_find(const uint8_t *bytes, size_t size_bytes);
