/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where untrusted bytes end: of one msgpack value, of one entry [EventTime, map], and of one entry
 * after the other in bytes that may be damaged. Nothing is decoded or allocated: what passes here
 * is small and shallow enough for a general msgpack decoder, which would believe an array that
 * claims 2^32 elements. Pure; any thread. Format: the msgpack specification ("Formats"),
 * https://github.com/msgpack/msgpack.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	VALUE_DEPTH_MAX = 8, /* the most that a caller may allow */
	ENTRY_BYTES_MAX = 1024 * 1024,
	ENTRY_DEPTH_MAX = 4, /* the entry itself is 1, its map 2, a list in the map 3 */
	ENTRY_VALUES_MAX = 4096, /* all values of the entry, names included */
	ENTRY_TIME_BYTES = 10, /* EventTime as fixext8: d7 00, seconds, nanoseconds */
	ENTRY_HEAD_BYTES = 1 + ENTRY_TIME_BYTES, /* before the map */
	ENTRY_PID_NAMES_MAX = 8, /* in a record it is the fifth */
	/* Where the next entry mostly begins. Farther than that is only looked where there is none,
	 * so that the work of scanning an entry is shared out over so many bytes. */
	ENTRY_NEAR_BYTES = 1024,
	/* In so many bytes of a file its first entry must be found, or it is of something else. */
	ENTRY_SEARCH_BYTES_MAX = 16 * 1024 * 1024,
};

struct value_limits {
	size_t bytes_max;
	size_t depth_max; /* containers inside each other; 0 = none, at most VALUE_DEPTH_MAX */
	uint64_t values_max; /* all values inside the outermost one, names included */
};

/*
 * 0 and the value's size in *ret_value_bytes; -EAGAIN: the bytes are a proper prefix of a value;
 * -EBADMSG: not msgpack; -E2BIG: more bytes or values than the limits; -ELOOP: nested deeper.
 */
int value_scan(const uint8_t *bytes, size_t available_bytes, const struct value_limits *limits,
	       size_t *ret_value_bytes);

/*
 * 0 and the entry's size in *ret_entry_bytes; -EAGAIN: the bytes are a proper prefix of an entry;
 * -EBADMSG: not an entry; -E2BIG: larger than ENTRY_BYTES_MAX or more than ENTRY_VALUES_MAX values;
 * -ELOOP: nested deeper than ENTRY_DEPTH_MAX.
 */
int entry_scan(const uint8_t *bytes, size_t available_bytes, size_t *ret_entry_bytes);

/* The same of an entry's head and the mark of its map alone: 0, -EAGAIN or -EBADMSG, so that a file
 * of something else is refused at byte 0. */
int entry_scan_head(const uint8_t *bytes, size_t available_bytes);

/* EventTime of an entry that passed entry_scan, in nanoseconds since 1970. */
uint64_t entry_time_ns(const uint8_t *entry);
/* The process that such an entry is about: the number by the name "pid" in its map; 0 = it has none
 * among its first ENTRY_PID_NAMES_MAX names. */
uint32_t entry_pid(const uint8_t *entry, size_t entry_bytes);

/*
 * The entries of a recording one after the other: where the one at the front ends, or where the
 * next one may begin. An entry is found again by how each of ours begins (record_encode.h):
 * EventTime, a map, "schema" 1, "kind". No text in a record can look like that, because it is no
 * UTF-8. The work is linear in the bytes, whatever they are.
 *
 * 0: an entry is at the front, and *ret_bytes its size. -EAGAIN: too few bytes to tell; if these
 * are the last ones (is_end), it is incomplete. -EBADMSG, -E2BIG, -ELOOP: damage, as entry_scan
 * says, or another entry begins inside of it; *ret_bytes, at least 1, are to be passed over: up to
 * where the next one may begin, or all.
 */
int entry_search(const uint8_t *bytes, size_t available_bytes, bool is_end, size_t *ret_bytes);

/* How many of the bytes the entry at the front may have, as far as a look at ENTRY_NEAR_BYTES
 * tells: at most up to where another one may begin. What ends there, entry_search finds, too. */
size_t entry_reach(const uint8_t *bytes, size_t available_bytes);
