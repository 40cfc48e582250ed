/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/wire_value.h"

#include <errno.h>
#include <string.h>

#include "record/entry_scan.h"

int wire_value_decode(const uint8_t *bytes, size_t available_bytes, msgpack_unpacked *ret_unpacked,
		      size_t *ret_value_bytes)
{
	static const struct value_limits limits = {
		.bytes_max = WIRE_VALUE_BYTES_MAX,
		.depth_max = WIRE_VALUE_DEPTH_MAX,
		.values_max = WIRE_VALUES_MAX,
	};
	size_t value_bytes, offset = 0;
	msgpack_unpack_return unpacked;
	int r = value_scan(bytes, available_bytes, &limits, &value_bytes);

	if (r < 0)
		return r;
	msgpack_unpacked_init(ret_unpacked);
	unpacked = msgpack_unpack_next(ret_unpacked, (const char *)bytes, value_bytes, &offset);
	if (unpacked == MSGPACK_UNPACK_SUCCESS) {
		*ret_value_bytes = value_bytes;
		return 0;
	}
	msgpack_unpacked_destroy(ret_unpacked);
	return unpacked == MSGPACK_UNPACK_NOMEM_ERROR ? -ENOMEM : -EBADMSG;
}

bool wire_value_as_bytes(const msgpack_object *value, const char **ret_bytes, size_t *ret_size)
{
	if (value->type == MSGPACK_OBJECT_STR) {
		*ret_bytes = value->via.str.ptr;
		*ret_size = value->via.str.size;
		return true;
	}
	if (value->type == MSGPACK_OBJECT_BIN) {
		*ret_bytes = value->via.bin.ptr;
		*ret_size = value->via.bin.size;
		return true;
	}
	return false;
}

bool wire_value_is(const msgpack_object *value, const char *text)
{
	const char *bytes;
	size_t size;

	return wire_value_as_bytes(value, &bytes, &size) && size == strlen(text) &&
	       memcmp(bytes, text, size) == 0;
}

const msgpack_object *wire_value_field(const msgpack_object *map, const char *name)
{
	if (map->type != MSGPACK_OBJECT_MAP)
		return NULL;
	for (uint32_t i = 0; i < map->via.map.size; i++) {
		if (wire_value_is(&map->via.map.ptr[i].key, name))
			return &map->via.map.ptr[i].val;
	}
	return NULL;
}
