/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/record_view.h"

#include <errno.h>
#include <string.h>

#include <msgpack.h>

#include "base/cleanup.h"
#include "record/entry_scan.h"
#include "record/record_fields.h"

static void unpacked_destroy(msgpack_unpacked *unpacked)
{
	msgpack_unpacked_destroy(unpacked);
}

const struct record_field *record_view_find(const struct record_view *view, const char *name)
{
	const struct record_text wanted = { name, strlen(name) };

	for (size_t i = 0; i < view->field_count; i++) {
		const struct record_text *found = &view->fields[i].name;

		if (found->size_bytes == wanted.size_bytes &&
		    memcmp(found->bytes, wanted.bytes, wanted.size_bytes) == 0)
			return &view->fields[i];
	}
	return NULL;
}

bool record_view_count(const struct record_view *view, const char *name, int64_t *ret_count)
{
	const struct record_field *field = record_view_find(view, name);

	if (!field || field->value != RECORD_VALUE_INTEGER || field->integer < 0)
		return false;
	*ret_count = field->integer;
	return true;
}

bool record_view_add(const struct record_view *view, const char *name, int64_t *sum)
{
	int64_t count;

	if (!record_view_count(view, name, &count))
		return false;
	saturated_add_to(sum, count);
	return true;
}

bool record_view_text(const struct record_view *view, const char *name,
		      struct record_text *ret_text)
{
	const struct record_field *field = record_view_find(view, name);

	if (!field || field->value != RECORD_VALUE_TEXT)
		return false;
	*ret_text = field->text;
	return true;
}

static int decode_text(const msgpack_object *object, struct record_text *ret_text)
{
	if (object->type != MSGPACK_OBJECT_STR)
		return -EBADMSG;
	if (object->via.str.size > RECORD_VIEW_TEXT_BYTES_MAX)
		return -E2BIG;
	*ret_text = (struct record_text){ object->via.str.ptr, object->via.str.size };
	return 0;
}

static int decode_list(struct record_view *view, const msgpack_object_array *array,
		       struct record_field *field)
{
	if (array->size > RECORD_VIEW_ITEMS_MAX - view->item_count)
		return -E2BIG;
	field->value = RECORD_VALUE_LIST;
	field->items = view->items + view->item_count;
	for (uint32_t i = 0; i < array->size; i++) {
		int r = decode_text(&array->ptr[i], &view->items[view->item_count]);

		if (r < 0)
			return r;
		view->item_count++;
		field->item_count++;
	}
	return 0;
}

static int decode_value(struct record_view *view, const msgpack_object *object,
			struct record_field *field)
{
	switch (object->type) {
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		field->value = RECORD_VALUE_INTEGER;
		field->integer = object->via.u64 > INT64_MAX ? INT64_MAX : (int64_t)object->via.u64;
		return 0;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		field->value = RECORD_VALUE_INTEGER;
		field->integer = object->via.i64;
		return 0;
	case MSGPACK_OBJECT_BOOLEAN:
		field->value = RECORD_VALUE_BOOL;
		field->integer = object->via.boolean;
		return 0;
	case MSGPACK_OBJECT_STR:
		field->value = RECORD_VALUE_TEXT;
		return decode_text(object, &field->text);
	case MSGPACK_OBJECT_ARRAY:
		return decode_list(view, &object->via.array, field);
	default:
		return 0;
	}
}

static int decode_fields(struct record_view *view, const msgpack_object_map *map)
{
	int r = 0;

	if (map->size > RECORD_VIEW_FIELDS_MAX)
		return -E2BIG;
	for (uint32_t i = 0; i < map->size && r == 0; i++) {
		struct record_field *field = &view->fields[view->field_count++];

		*field = (struct record_field){ 0 };
		r = decode_text(&map->ptr[i].key, &field->name);
		if (r == 0)
			r = decode_value(view, &map->ptr[i].val, field);
	}
	return r;
}

static int check_common(struct record_view *view)
{
	struct record_text kind;
	int64_t schema, pid;

	if (!record_view_count(view, "schema", &schema))
		return -EBADMSG;
	if (schema != RECORD_SCHEMA)
		return -EPROTONOSUPPORT;
	if (!record_view_text(view, "kind", &kind) ||
	    !record_view_count(view, RECORD_FIELD(common, pid), &pid))
		return -EBADMSG;
	view->kind = RECORD_KIND_OTHER;
	for (int i = RECORD_KIND_OTHER + 1; i < _RECORD_KIND_MAX; i++) {
		if (record_text_is(kind, record_kinds[i].name))
			view->kind = (enum record_kind)i;
	}
	return 0;
}

int record_view_decode(const uint8_t *entry, size_t entry_bytes, struct record_view *ret_view)
{
	_cleanup_(unpacked_destroy) msgpack_unpacked unpacked = { 0 };
	msgpack_unpack_return unpack_result;
	const msgpack_object_array *pair = &unpacked.data.via.array;
	size_t offset = 0;
	int r;

	unpack_result = msgpack_unpack_next(&unpacked, (const char *)entry, entry_bytes, &offset);
	if (unpack_result == MSGPACK_UNPACK_NOMEM_ERROR)
		return -ENOMEM;
	if (unpack_result != MSGPACK_UNPACK_SUCCESS || unpacked.data.type != MSGPACK_OBJECT_ARRAY ||
	    pair->size != 2 || pair->ptr[0].type != MSGPACK_OBJECT_EXT ||
	    pair->ptr[0].via.ext.size != 8 || pair->ptr[1].type != MSGPACK_OBJECT_MAP)
		return -EBADMSG;
	ret_view->field_count = 0;
	ret_view->item_count = 0;
	ret_view->wall_ns = entry_time_ns(entry);
	r = decode_fields(ret_view, &pair->ptr[1].via.map);
	return r == 0 ? check_common(ret_view) : r;
}
