/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Data from a collector: single msgpack values, untrusted. A value is bounded before it is decoded
 * (value_scan). Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <msgpack.h>

enum {
	WIRE_VALUE_BYTES_MAX = 4096, /* ten times a PONG with a long reason */
	WIRE_VALUE_DEPTH_MAX = 3,
	WIRE_VALUES_MAX = 64,
};

/*
 * Decodes the value at the front of bytes. 0, its size in *ret_value_bytes, and ret_unpacked, which
 * points into bytes and which the caller destroys; -EAGAIN: incomplete; -EBADMSG, -E2BIG or -ELOOP
 * from value_scan; -ENOMEM.
 */
int wire_value_decode(const uint8_t *bytes, size_t available_bytes, msgpack_unpacked *ret_unpacked,
		      size_t *ret_value_bytes);

/* Accepts str or bin, between which receivers do not distinguish: true, and sets its bytes. */
bool wire_value_as_bytes(const msgpack_object *value, const char **ret_bytes, size_t *ret_size);
/* True if it is a str or bin equal to text. */
bool wire_value_is(const msgpack_object *value, const char *text);
/* The value of a field of a map; NULL: not there, or not a map. */
const msgpack_object *wire_value_field(const msgpack_object *map, const char *name);
