/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/query/packing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "record/record.h"

enum {
	VARINT_BYTES_MAX = 10,
	CAPACITY_BYTES_MIN = 4096,
};

struct packing_shape {
	uint64_t hash; /* of kind, types and names: rules out most other shapes */
	enum record_kind kind;
	struct record_places places; /* indexes into fields */
	size_t field_count;
	struct record_field fields[]; /* types, and names in the same allocation */
};

void packing_deinit(struct packing *packing)
{
	for (size_t i = 0; i < packing->shape_count; i++)
		free(packing->shapes[i]);
	*packing = (struct packing){ 0 };
}

/* Not kept: fields that no reader asks for, or that packed_head has. */
static bool is_kept(const struct record_field *field)
{
	return !record_text_is(field->name, "schema") && !record_text_is(field->name, "kind") &&
	       !record_text_is(field->name, RECORD_FIELD(common, record_id));
}

/* kept: the view's fields that are to be packed. Returns their number. */
static size_t choose(const struct packing *packing, const struct record_view *view,
		     const struct record_field *kept[static RECORD_VIEW_FIELDS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < view->field_count; i++)
		if (packing->keeps_all || is_kept(&view->fields[i]))
			kept[count++] = &view->fields[i];
	return count;
}

static uint64_t hash_of(enum record_kind kind, const struct record_field *const *fields,
			size_t count)
{
	uint64_t hash = hash_bytes(0, &kind, sizeof(kind));

	for (size_t i = 0; i < count; i++) {
		hash = hash_bytes(hash, &fields[i]->value, sizeof(fields[i]->value));
		hash = hash_bytes(hash, fields[i]->name.bytes, fields[i]->name.size_bytes);
	}
	return hash;
}

static bool is_same(const struct packing_shape *shape, enum record_kind kind,
		    const struct record_field *const *fields, size_t count)
{
	if (shape->kind != kind || shape->field_count != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct record_text *name = &shape->fields[i].name, *other = &fields[i]->name;

		if (shape->fields[i].value != fields[i]->value ||
		    name->size_bytes != other->size_bytes ||
		    memcmp(name->bytes, other->bytes, name->size_bytes) != 0)
			return false;
	}
	return true;
}

/* Converts the view's places to indexes of the kept fields. */
static void move_places(const struct record_view *view, const struct record_field *const *fields,
			size_t count, struct record_places *ret_places)
{
	const uint8_t *from = (const uint8_t *)&view->places;
	uint8_t *to = (uint8_t *)ret_places;
	uint8_t moved[RECORD_VIEW_FIELDS_MAX + 1] = { 0 };

	for (size_t i = 0; i < count; i++)
		moved[fields[i] - view->fields + 1] = (uint8_t)(i + 1);
	for (size_t place = 0; place < sizeof(*ret_places); place++)
		to[place] = moved[from[place]];
}

static struct packing_shape *new_shape(const struct record_view *view,
				       const struct record_field *const *fields, size_t count)
{
	size_t names_bytes = 0;
	struct packing_shape *shape;
	char *name;

	for (size_t i = 0; i < count; i++)
		names_bytes += fields[i]->name.size_bytes;
	shape = calloc(1, sizeof(*shape) + count * sizeof(shape->fields[0]) + names_bytes);
	if (!shape)
		return NULL;
	shape->kind = view->kind;
	move_places(view, fields, count, &shape->places);
	shape->field_count = count;
	name = (char *)&shape->fields[count];
	for (size_t i = 0; i < count; i++) {
		size_t size_bytes = fields[i]->name.size_bytes;

		memcpy(name, fields[i]->name.bytes, size_bytes);
		shape->fields[i].name = (struct record_text){ name, size_bytes };
		shape->fields[i].value = fields[i]->value;
		shape->fields[i].is_key = fields[i]->is_key;
		name += size_bytes;
	}
	return shape;
}

/* Returns its number, or -errno. */
static int find_shape(struct packing *packing, const struct record_view *view,
		      const struct record_field *const *fields, size_t count)
{
	size_t *last = &packing->last[view->kind];
	uint64_t hash;

	if (*last < packing->shape_count &&
	    is_same(packing->shapes[*last], view->kind, fields, count))
		return (int)*last;
	hash = hash_of(view->kind, fields, count);
	for (size_t i = 0; i < packing->shape_count; i++) {
		if (packing->shapes[i]->hash == hash &&
		    is_same(packing->shapes[i], view->kind, fields, count)) {
			*last = i;
			return (int)i;
		}
	}
	if (packing->shape_count == PACKING_SHAPES_MAX)
		return -E2BIG;
	packing->shapes[packing->shape_count] = new_shape(view, fields, count);
	if (!packing->shapes[packing->shape_count])
		return -ENOMEM;
	packing->shapes[packing->shape_count]->hash = hash;
	*last = packing->shape_count++;
	return (int)*last;
}

/* Seven bits per byte, lowest first; the lowest bit is the sign. */
static void put_number(struct packed *packed, int64_t number)
{
	uint64_t rest = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);

	for (; rest >= 0x80; rest >>= 7)
		packed->bytes[packed->size_bytes++] = (uint8_t)(rest | 0x80);
	packed->bytes[packed->size_bytes++] = (uint8_t)rest;
}

static int64_t get_number(const uint8_t **at)
{
	uint64_t rest = 0;
	int shift = 0;

	do
		rest |= (uint64_t)(**at & 0x7f) << shift;
	while (shift += 7, *(*at)++ & 0x80);
	return (int64_t)(rest >> 1 ^ -(rest & 1));
}

static void put_text(struct packed *packed, struct record_text text)
{
	put_number(packed, (int64_t)text.size_bytes);
	memcpy(packed->bytes + packed->size_bytes, text.bytes, text.size_bytes);
	packed->size_bytes += text.size_bytes;
}

static struct record_text get_text(const uint8_t **at)
{
	size_t size_bytes = (size_t)get_number(at);
	struct record_text text = { (const char *)*at, size_bytes };

	*at += size_bytes;
	return text;
}

/* The maximum packed size of a field. */
static size_t bytes_max(const struct record_field *field)
{
	size_t bytes = VARINT_BYTES_MAX + field->text.size_bytes;

	for (size_t i = 0; i < field->item_count; i++)
		bytes += VARINT_BYTES_MAX + field->items[i].size_bytes;
	return bytes;
}

static int make_room(struct packed *packed, size_t wanted_bytes)
{
	size_t capacity_bytes = 2 * packed->capacity_bytes;
	uint8_t *bytes;

	if (packed->capacity_bytes - packed->size_bytes >= wanted_bytes)
		return 0;
	if (capacity_bytes < packed->size_bytes + wanted_bytes)
		capacity_bytes = packed->size_bytes + wanted_bytes;
	if (capacity_bytes < CAPACITY_BYTES_MIN)
		capacity_bytes = CAPACITY_BYTES_MIN;
	bytes = realloc(packed->bytes, capacity_bytes);
	if (!bytes)
		return -ENOMEM;
	packed->bytes = bytes;
	packed->capacity_bytes = capacity_bytes;
	return 0;
}

static void put_field(struct packed *packed, const struct record_field *field)
{
	switch (field->value) {
	case RECORD_VALUE_INTEGER:
	case RECORD_VALUE_BOOL:
		put_number(packed, field->integer);
		return;
	case RECORD_VALUE_TEXT:
		put_text(packed, field->text);
		return;
	case RECORD_VALUE_LIST:
		put_number(packed, (int64_t)field->item_count);
		for (size_t i = 0; i < field->item_count; i++)
			put_text(packed, field->items[i]);
		return;
	default:
		return;
	}
}

static void put_record(struct packed *packed, const struct record_field *const *fields,
		       size_t count, struct packed_head head)
{
	size_t begin = packed->size_bytes;

	packed->size_bytes += sizeof(head);
	for (size_t i = 0; i < count; i++)
		put_field(packed, fields[i]);
	head.size_bytes = (uint32_t)(packed->size_bytes - begin);
	memcpy(packed->bytes + begin, &head, sizeof(head));
}

int packing_put(struct packing *packing, const struct record_view *view, uint64_t tag,
		struct packed *packed)
{
	const struct record_field *kept[RECORD_VIEW_FIELDS_MAX];
	size_t count = choose(packing, view, kept);
	size_t wanted_bytes = sizeof(struct packed_head);
	struct packed_head head = { .kind = (uint16_t)view->kind,
				    .wall_ns = view->wall_ns,
				    .tag = tag };
	int shape = find_shape(packing, view, kept, count), r;

	if (shape < 0)
		return shape;
	for (size_t i = 0; i < count; i++)
		wanted_bytes += bytes_max(kept[i]);
	head.shape = (uint16_t)shape;
	r = make_room(packed, wanted_bytes);
	if (r == 0)
		put_record(packed, kept, count, head);
	return r;
}

bool packing_next_head(const struct packed *packed, size_t *offset, struct packed_head *ret_head)
{
	if (*offset == packed->size_bytes)
		return false;
	memcpy(ret_head, packed->bytes + *offset, sizeof(*ret_head));
	*offset += ret_head->size_bytes;
	return true;
}

static void get_list(const uint8_t **at, struct record_view *view, struct record_field *field)
{
	field->item_count = (size_t)get_number(at);
	field->items = view->items + view->item_count;
	for (size_t i = 0; i < field->item_count; i++)
		view->items[view->item_count++] = get_text(at);
}

void packing_get(const struct packing *packing, const struct packed *packed, size_t offset,
		 const struct packed_head *head, struct record_view *ret_view)
{
	const struct packing_shape *shape = packing->shapes[head->shape];
	const uint8_t *at = packed->bytes + offset - head->size_bytes + sizeof(*head);

	ret_view->wall_ns = head->wall_ns;
	ret_view->kind = (enum record_kind)head->kind;
	ret_view->places = shape->places;
	ret_view->field_count = shape->field_count;
	ret_view->item_count = 0;
	for (size_t i = 0; i < shape->field_count; i++) {
		struct record_field *field = &ret_view->fields[i];

		*field = shape->fields[i];
		if (field->value == RECORD_VALUE_INTEGER || field->value == RECORD_VALUE_BOOL)
			field->integer = get_number(&at);
		else if (field->value == RECORD_VALUE_TEXT)
			field->text = get_text(&at);
		else if (field->value == RECORD_VALUE_LIST)
			get_list(&at, ret_view, field);
	}
}
