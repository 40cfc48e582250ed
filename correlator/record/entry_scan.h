/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds where untrusted bytes end: one msgpack value, one entry [EventTime, map], or one entry
 * after the other in bytes that may be damaged. Decodes and allocates nothing: accepted bytes are
 * small and shallow enough for a general msgpack decoder, which would believe an array that claims
 * 2^32 elements. Pure; any thread. Format: the msgpack specification ("Formats"),
 * https://github.com/msgpack/msgpack.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	VALUE_DEPTH_MAX = 8, /* upper limit of depth_max */
	ENTRY_BYTES_MAX = 1024 * 1024,
	ENTRY_DEPTH_MAX = 4, /* the entry itself is 1, its map 2, a list in the map 3 */
	ENTRY_VALUES_MAX = 4096, /* all values of the entry, including names */
	ENTRY_TIME_BYTES = 10, /* EventTime as fixext8: d7 00, seconds, nanoseconds */
	ENTRY_HEAD_BYTES = 1 + ENTRY_TIME_BYTES, /* before the map */
	ENTRY_PID_NAMES_MAX = 8, /* in a record pid is the fifth */
	/* The next entry usually begins within this distance. entry_search looks farther only if it
	 * does not, so that the cost of scanning an entry is spread over this many bytes. */
	ENTRY_NEAR_BYTES = 1024,
	/* The first entry of a file must be found within this many bytes, or it is not a recording.
	 */
	ENTRY_SEARCH_BYTES_MAX = 16 * 1024 * 1024,
};

struct value_limits {
	size_t bytes_max;
	size_t depth_max; /* nesting of containers; 0 = none, at most VALUE_DEPTH_MAX */
	uint64_t values_max; /* all values inside the outermost one, including names */
};

/*
 * Returns 0 and the value's size in *ret_value_bytes; -EAGAIN: the bytes are a proper prefix of a
 * value; -EBADMSG: not msgpack; -E2BIG: more bytes or values than the limits; -ELOOP: nested
 * deeper.
 */
int value_scan(const uint8_t *bytes, size_t available_bytes, const struct value_limits *limits,
	       size_t *ret_value_bytes);

/*
 * Returns 0 and the entry's size in *ret_entry_bytes; -EAGAIN: the bytes are a proper prefix of an
 * entry; -EBADMSG: not an entry; -E2BIG: larger than ENTRY_BYTES_MAX or more than ENTRY_VALUES_MAX
 * values; -ELOOP: nested deeper than ENTRY_DEPTH_MAX.
 */
int entry_scan(const uint8_t *bytes, size_t available_bytes, size_t *ret_entry_bytes);

/* Does the same for an entry's head and the mark of its map only: 0, -EAGAIN or -EBADMSG, so that a
 * file of another format is refused at byte 0. */
int entry_scan_head(const uint8_t *bytes, size_t available_bytes);

/* EventTime of an entry that passed entry_scan, in nanoseconds since 1970. */
uint64_t entry_time_ns(const uint8_t *entry);
/* The process of an entry that passed entry_scan: the number named "pid" in its map; 0 = not among
 * its first ENTRY_PID_NAMES_MAX names. */
uint32_t entry_pid(const uint8_t *entry, size_t entry_bytes);

/*
 * Walks the entries of a recording: finds where the entry at the front ends, or where the next one
 * may begin. An entry is recognized by the beginning of each of ours (record_encode.h): EventTime,
 * a map, "schema" 1, "kind". No text in a record can look like that, because it is not UTF-8. The
 * work is linear in the number of bytes, whatever they are.
 *
 * Returns
 *   - 0: an entry is at the front, and *ret_bytes is its size.
 *   - -EAGAIN: too few bytes to decide; if no more follow (is_end), the entry is incomplete.
 *   - -EBADMSG, -E2BIG, -ELOOP: damage, as reported by entry_scan, or another entry begins inside
 *     this one. Skip *ret_bytes, at least 1: they end where the next entry may begin, or are all.
 */
int entry_search(const uint8_t *bytes, size_t available_bytes, bool is_end, size_t *ret_bytes);

/* Upper bound of the size of the entry at the front, from its first ENTRY_NEAR_BYTES: it ends where
 * another entry may begin. entry_search accepts any entry that ends within the bound, too. */
size_t entry_reach(const uint8_t *bytes, size_t available_bytes);
