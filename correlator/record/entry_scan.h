/*
 * Finds the end of one entry [EventTime, map] in untrusted bytes, as value_scan.h does. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	ENTRY_BYTES_MAX = 1024 * 1024,
	ENTRY_DEPTH_MAX = 4, /* the entry itself is 1, its map 2, a list in the map 3 */
	ENTRY_VALUES_MAX = 4096, /* all values of the entry, names included */
	ENTRY_TIME_BYTES = 10, /* EventTime as fixext8: d7 00, seconds, nanoseconds */
};

/*
 * 0 and the entry's size in *ret_entry_bytes; -EAGAIN: the bytes are a proper prefix of an entry;
 * -EBADMSG: not an entry; -E2BIG: larger than ENTRY_BYTES_MAX or more than ENTRY_VALUES_MAX values;
 * -ELOOP: nested deeper than ENTRY_DEPTH_MAX.
 */
int entry_scan(const uint8_t *bytes, size_t available_bytes, size_t *ret_entry_bytes);

/* EventTime of an entry that passed entry_scan, in nanoseconds since 1970. */
uint64_t entry_time_ns(const uint8_t *entry);
