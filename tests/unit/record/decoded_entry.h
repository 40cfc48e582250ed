/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An encoder's bytes, decoded by msgpack-c, and what is expected of their fields.
 */
#pragma once

#include <string.h>

#include <msgpack.h>

#include "unit_test.h"

#include "record/record_encode.h"

/* The one entry that the encoder holds, decoded; destroy unpacked after use. */
static inline msgpack_object_map decode(const struct record_encoder *encoder,
					msgpack_unpacked *unpacked)
{
	size_t size_bytes, offset = 0;
	const char *bytes = record_encoder_bytes(encoder, &size_bytes);
	msgpack_object_array entry;

	assert_non_null(bytes);
	msgpack_unpacked_init(unpacked);
	assert_int_equal(msgpack_unpack_next(unpacked, bytes, size_bytes, &offset),
			 MSGPACK_UNPACK_SUCCESS);
	assert_int_equal(offset, size_bytes);
	assert_int_equal(unpacked->data.type, MSGPACK_OBJECT_ARRAY);
	entry = unpacked->data.via.array;
	assert_int_equal(entry.size, 2);
	assert_int_equal(entry.ptr[0].type, MSGPACK_OBJECT_EXT);
	assert_int_equal(entry.ptr[0].via.ext.type, 0);
	assert_int_equal(entry.ptr[0].via.ext.size, 8);
	assert_int_equal(entry.ptr[1].type, MSGPACK_OBJECT_MAP);
	return entry.ptr[1].via.map;
}

static inline const msgpack_object *find(const msgpack_object_map *map, const char *name)
{
	const msgpack_object *found = NULL;

	for (uint32_t i = 0; i < map->size; i++) {
		const msgpack_object_str *key = &map->ptr[i].key.via.str;

		assert_int_equal(map->ptr[i].key.type, MSGPACK_OBJECT_STR);
		if (key->size != strlen(name) || memcmp(key->ptr, name, key->size) != 0)
			continue;
		assert_null(found);
		found = &map->ptr[i].val;
	}
	return found;
}

static inline void expect_number(const msgpack_object_map *map, const char *name, uint64_t expected)
{
	const msgpack_object *value = find(map, name);

	if (!value)
		fail_msg("no field %s", name);
	assert_int_equal(value->type, MSGPACK_OBJECT_POSITIVE_INTEGER);
	if (value->via.u64 != expected)
		fail_msg("%s is %llu", name, (unsigned long long)value->via.u64);
}

static inline void expect_text(const msgpack_object_map *map, const char *name,
			       const char *expected)
{
	const msgpack_object *value = find(map, name);

	if (!value)
		fail_msg("no field %s", name);
	assert_int_equal(value->type, MSGPACK_OBJECT_STR);
	assert_int_equal(value->via.str.size, strlen(expected));
	assert_memory_equal(value->via.str.ptr, expected, strlen(expected));
}

static inline void expect_texts(const msgpack_object_map *map, const char *name,
				const char *const *expected, uint32_t count)
{
	const msgpack_object *value = find(map, name);

	assert_non_null(value);
	assert_int_equal(value->type, MSGPACK_OBJECT_ARRAY);
	assert_int_equal(value->via.array.size, count);
	for (uint32_t i = 0; i < count; i++) {
		const msgpack_object_str *text = &value->via.array.ptr[i].via.str;

		assert_int_equal(text->size, strlen(expected[i]));
		assert_memory_equal(text->ptr, expected[i], text->size);
	}
}

static const struct record_common common = {
	.wall_ns = 1700000001123456789,
	.record_id = "b0071d:4242:77:1",
	.host_name = "web-1",
	.pid = 4242,
};

static inline void expect_common(const msgpack_object_map *map, const char *kind,
				 uint32_t field_count)
{
	assert_int_equal(map->size, field_count);
	expect_number(map, "schema", 1);
	expect_text(map, "kind", kind);
	expect_text(map, "record_id", common.record_id);
	expect_text(map, "host_name", common.host_name);
	expect_number(map, "pid", common.pid);
}

/* Tests get an encoder as their state. */
static inline int setup(void **state)
{
	*state = record_encoder_new();
	return *state ? 0 : -1;
}

static inline int teardown(void **state)
{
	record_encoder_free(*state);
	return 0;
}

#define ENCODER_TEST(test) TEST_WITH(test, setup, teardown)
