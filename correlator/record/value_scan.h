/*
 * Finds the end of one msgpack value in untrusted bytes, without decoding it and without
 * allocating: what passes here is small and shallow enough for a general msgpack decoder, which
 * would believe an array that claims 2^32 elements. Pure.
 * Format: the msgpack specification ("Formats"), https://github.com/msgpack/msgpack.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	VALUE_DEPTH_MAX = 8 /* the most that a caller may allow */
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
