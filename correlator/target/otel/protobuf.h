/*
 * The wire format of protobuf, read field by field from bytes that anybody may have written:
 * nothing is allocated, nothing is read beyond the bytes. Pure; any thread; results point into
 * them. Source: protobuf.dev, "Encoding".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum protobuf_wire_type {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2, /* string, bytes, a message, packed numbers */
	PROTOBUF_FIXED32 = 5,
};

struct protobuf_reader {
	const uint8_t *position;
	const uint8_t *end;
};

struct protobuf_field {
	uint32_t number;
	uint32_t wire_type; /* enum protobuf_wire_type */
	struct protobuf_reader bytes; /* of PROTOBUF_BYTES: what is in it */
};

/*
 * The next field of a message. 1, 0 at the end, -EBADMSG: cut, a number of a field that cannot be,
 * or a wire type that is not known (groups, which no message of today has, among them).
 */
int protobuf_next(struct protobuf_reader *reader, struct protobuf_field *ret_field);
