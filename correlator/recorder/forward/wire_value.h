/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a collector says: single msgpack values, read without trust. A value is bounded before it
 * is decoded (value_scan). Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <msgpack.h>

enum {
	WIRE_VALUE_BYTES_MAX = 4096, /* a PONG with a long reason is a tenth of that */
	WIRE_VALUE_DEPTH_MAX = 3,
	WIRE_VALUES_MAX = 64,
};

/*
 * Decodes the value at the front of bytes. 0, *ret_value_bytes its size, and ret_unpacked the
 * caller's to destroy, which points into bytes; -EAGAIN: only its beginning is there; -EBADMSG,
 * -E2BIG or -ELOOP as value_scan says; -ENOMEM.
 */
int wire_value_decode(const uint8_t *bytes, size_t available_bytes, msgpack_unpacked *ret_unpacked,
		      size_t *ret_value_bytes);

/* str or bin, which is all the same to receivers: true and where its bytes are. */
bool wire_value_as_bytes(const msgpack_object *value, const char **ret_bytes, size_t *ret_size);
/* Whether it is that text. */
bool wire_value_is(const msgpack_object *value, const char *text);
/* The value of a field of a map; NULL: not there, or not a map. */
const msgpack_object *wire_value_field(const msgpack_object *map, const char *name);
