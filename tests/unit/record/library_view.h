/* SPDX-License-Identifier: GPL-2.0-only */
/* A view beside what a general msgpack decoder makes of the same entry: they must agree. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include <msgpack.h>

#include "record/record_view.h"

static inline bool is_text_of_library(struct record_text text, const msgpack_object *object)
{
	/* Where an empty one is the library does not care. */
	return object->type == MSGPACK_OBJECT_STR && text.size_bytes == object->via.str.size &&
	       (text.size_bytes == 0 || text.bytes == object->via.str.ptr);
}

static inline bool is_list_of_library(const struct record_field *field,
				      const msgpack_object_array *array)
{
	if (field->value != RECORD_VALUE_LIST || field->item_count != array->size)
		return false;
	for (uint32_t i = 0; i < array->size; i++) {
		if (!is_text_of_library(field->items[i], &array->ptr[i]))
			return false;
	}
	return true;
}

static inline bool is_value_of_library(const struct record_field *field,
				       const msgpack_object *object)
{
	switch (object->type) {
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		return field->value == RECORD_VALUE_INTEGER &&
		       field->integer ==
			       (object->via.u64 > INT64_MAX ? INT64_MAX : (int64_t)object->via.u64);
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		return field->value == RECORD_VALUE_INTEGER && field->integer == object->via.i64;
	case MSGPACK_OBJECT_BOOLEAN:
		return field->value == RECORD_VALUE_BOOL && field->integer == object->via.boolean;
	case MSGPACK_OBJECT_STR:
		return field->value == RECORD_VALUE_TEXT && is_text_of_library(field->text, object);
	case MSGPACK_OBJECT_ARRAY:
		return is_list_of_library(field, &object->via.array);
	default:
		return field->value == RECORD_VALUE_OTHER;
	}
}

/* Of an entry that record_view_decode took. */
static inline bool is_view_of_library(const struct record_view *view, const uint8_t *entry)
{
	msgpack_unpacked unpacked;
	size_t entry_bytes = 0;
	bool is_same = false;

	msgpack_unpacked_init(&unpacked);
	if (msgpack_unpack_next(&unpacked, (const char *)entry, view->entry_bytes, &entry_bytes) ==
		    MSGPACK_UNPACK_SUCCESS &&
	    unpacked.data.type == MSGPACK_OBJECT_ARRAY && unpacked.data.via.array.size == 2 &&
	    unpacked.data.via.array.ptr[1].type == MSGPACK_OBJECT_MAP) {
		const msgpack_object_map *map = &unpacked.data.via.array.ptr[1].via.map;

		is_same = entry_bytes == view->entry_bytes && map->size == view->field_count;
		for (uint32_t i = 0; is_same && i < map->size; i++)
			is_same = is_text_of_library(view->fields[i].name, &map->ptr[i].key) &&
				  is_value_of_library(&view->fields[i], &map->ptr[i].val);
	}
	msgpack_unpacked_destroy(&unpacked);
	return is_same;
}
