/*
 * The entries of a recording one after the other, in bytes that may be damaged: where the one at
 * the front ends, or where the next one may begin. An entry is found again by how each of ours
 * begins (record_encode.h): EventTime, a map, "schema" 1, "kind". No text in a record can look like
 * that, because it is no UTF-8. Pure. The work is linear in the bytes, whatever they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * 0: an entry is at the front, and *ret_bytes its size. -EAGAIN: too few bytes to tell; if these
 * are the last ones (is_end), it is incomplete. -EBADMSG, -E2BIG, -ELOOP: damage, as entry_scan
 * says, or another entry begins inside of it; *ret_bytes, at least 1, are to be passed over: up to
 * where the next one may begin, or all.
 */
int entry_search(const uint8_t *bytes, size_t available_bytes, bool is_end, size_t *ret_bytes);
