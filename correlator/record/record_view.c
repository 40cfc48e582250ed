/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/record_view.h"

#include <errno.h>
#include <string.h>

#include "record/entry_scan.h"
#include "record/record_fields.h"
#include "record/record_shape.h"
#include "record/token.h"

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

bool record_view_lists_at(const struct record_view *view, size_t place, const char *text)
{
	const struct record_field *list = record_view_at(view, place);

	for (size_t i = 0; list && i < list->item_count; i++) {
		if (record_text_is(list->items[i], text))
			return true;
	}
	return false;
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

/* The rest of an entry. */
struct cursor {
	const uint8_t *next;
	const uint8_t *end;
};

/* Takes a token and its payload, which is complete; the values in an array or map are not taken.
 * Returns TOKEN_BAD on failure. Inline: called sixty times per record. */
static __always_inline struct token take(struct cursor *cursor, const uint8_t **ret_payload)
{
	size_t left_bytes = (size_t)(cursor->end - cursor->next);
	struct token token;

	if (left_bytes == 0)
		return (struct token){ .kind = TOKEN_BAD };
	token = token_read(cursor->next, left_bytes);
	if (token.kind <= TOKEN_CUT || token_bytes(token) > left_bytes)
		return (struct token){ .kind = TOKEN_BAD };
	*ret_payload = cursor->next + token.head_bytes;
	cursor->next += token_bytes(token);
	return token;
}

static int read_text(struct token token, const uint8_t *payload, struct record_text *ret_text)
{
	if (token.kind != TOKEN_TEXT)
		return -EBADMSG;
	if (token.count > RECORD_VIEW_TEXT_BYTES_MAX)
		return -E2BIG;
	*ret_text = (struct record_text){ (const char *)payload, token.count };
	return 0;
}

static int take_text(struct cursor *cursor, struct record_text *ret_text)
{
	const uint8_t *payload = NULL;
	struct token token = take(cursor, &payload);

	return read_text(token, payload, ret_text);
}

static int take_list(struct record_view *view, struct cursor *cursor, size_t count,
		     struct record_field *field)
{
	int r = 0;

	if (count > RECORD_VIEW_ITEMS_MAX - view->item_count)
		return -E2BIG;
	field->value = RECORD_VALUE_LIST;
	field->items = view->items + view->item_count;
	for (; field->item_count < count && r == 0; field->item_count++)
		r = take_text(cursor, &view->items[view->item_count++]);
	return r;
}

/* Skips a map with any values, nested as deep as entry_scan allows: the entry and its map enclose
 * it. */
static int skip_map(struct cursor *cursor, const uint8_t *map)
{
	const struct value_limits limits = { ENTRY_BYTES_MAX, ENTRY_DEPTH_MAX - 2,
					     ENTRY_VALUES_MAX };
	size_t map_bytes;

	if (value_scan(map, (size_t)(cursor->end - map), &limits, &map_bytes) < 0)
		return -EBADMSG;
	cursor->next = map + map_bytes;
	return 0;
}

static int64_t read_number(struct token token, const uint8_t *payload)
{
	uint64_t value = token_number(payload, token.count);
	unsigned int free_bits = 64 - 8 * token.count;

	if (token.kind == TOKEN_SIGNED)
		return (int64_t)(value << free_bits) >> free_bits;
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static int take_value(struct record_view *view, struct cursor *cursor, struct record_field *field)
{
	const uint8_t *begin = cursor->next, *payload = NULL;
	struct token token = take(cursor, &payload);

	switch (token.kind) {
	case TOKEN_BAD:
		return -EBADMSG;
	case TOKEN_UNSIGNED:
	case TOKEN_SIGNED:
		field->value = RECORD_VALUE_INTEGER;
		field->integer = read_number(token, payload);
		return 0;
	case TOKEN_FALSE:
	case TOKEN_TRUE:
		field->value = RECORD_VALUE_BOOL;
		field->integer = token.kind == TOKEN_TRUE;
		return 0;
	case TOKEN_TEXT:
		field->value = RECORD_VALUE_TEXT;
		return read_text(token, payload, &field->text);
	case TOKEN_ARRAY:
		return take_list(view, cursor, token.count, field);
	case TOKEN_MAP:
		return skip_map(cursor, begin);
	default:
		return 0;
	}
}

/* Compares names of the same length, without a call: word by word; the last two may overlap. */
static __always_inline bool is_same(const void *a, const void *b, size_t size_bytes)
{
	const char *first = a, *second = b;
	uint64_t words[2];
	uint32_t halves[4];

	if (size_bytes >= sizeof(uint64_t)) {
		for (size_t at = 0;; at += sizeof(uint64_t)) {
			bool is_last = at + sizeof(uint64_t) >= size_bytes;

			at = is_last ? size_bytes - sizeof(uint64_t) : at;
			memcpy(&words[0], first + at, sizeof(uint64_t));
			memcpy(&words[1], second + at, sizeof(uint64_t));
			if (words[0] != words[1] || is_last)
				return words[0] == words[1];
		}
	}
	if (size_bytes >= sizeof(uint32_t)) {
		memcpy(&halves[0], first, 4);
		memcpy(&halves[1], second, 4);
		memcpy(&halves[2], first + size_bytes - 4, 4);
		memcpy(&halves[3], second + size_bytes - 4, 4);
		return halves[0] == halves[1] && halves[2] == halves[3];
	}
	return memcmp(first, second, size_bytes) == 0;
}

static __always_inline bool take_known_name(struct cursor *cursor,
					    const struct record_shape_field *known,
					    struct record_text *ret_name)
{
	if ((size_t)(cursor->end - cursor->next) < known->name_bytes ||
	    !is_same(cursor->next, known->name, known->name_bytes))
		return false;
	*ret_name = (struct record_text){ (const char *)cursor->next + 1, known->name_bytes - 1U };
	cursor->next += known->name_bytes;
	return true;
}

/* Sets *ret_shape to the shape that the fields match, or NULL. */
static int take_fields(struct record_view *view, struct cursor *cursor,
		       const struct record_shapes *shapes, const struct record_shape **ret_shape)
{
	const uint8_t *payload = NULL;
	struct token map = take(cursor, &payload);
	const struct record_shape *shape = NULL;
	int r = map.kind == TOKEN_MAP ? 0 : -EBADMSG;

	if (r == 0 && map.count > RECORD_VIEW_FIELDS_MAX)
		return -E2BIG;
	if (r == 0 && shapes)
		shape = record_shapes_find(shapes, map.count);
	while (r == 0 && view->field_count < map.count) {
		const struct record_shape_field *known =
			shape ? &shape->fields[view->field_count] : NULL;
		struct record_field *field = &view->fields[view->field_count++];

		*field = (struct record_field){ 0 };
		if (!known || !take_known_name(cursor, known, &field->name)) {
			known = NULL;
			r = take_text(cursor, &field->name);
		}
		if (r == 0)
			r = take_value(view, cursor, field);
		if (known && field->value == known->value)
			field->is_key = known->is_key;
		else
			shape = NULL;
	}
	*ret_shape = shape;
	return r;
}

static enum record_kind find_kind(struct record_text name)
{
	for (int kind = RECORD_KIND_OTHER + 1; kind < _RECORD_KIND_MAX; kind++) {
		if (record_text_is(name, record_kinds[kind].name))
			return (enum record_kind)kind;
	}
	return RECORD_KIND_OTHER;
}

/* Returns the index, or -1. */
static int find_among(const struct record_kind_info *kind, size_t from, size_t to,
		      struct record_text name)
{
	for (; from < to; from++) {
		if (kind->fields[from].name_bytes == name.size_bytes &&
		    is_same(kind->fields[from].name, name.bytes, name.size_bytes))
			return (int)from;
	}
	return -1;
}

/* The position of a record in the schema, whose order its fields follow, the common ones first. */
struct walk {
	const struct record_kind_info *here;
	const struct record_kind_info *there; /* the other of common and the record's kind */
	size_t next; /* index in here */
};

/* Usually it is the next field; else searches all of them once around. Returns false if the schema
 * does not have it. */
static bool find_info(struct walk *walk, struct record_text name)
{
	const struct record_kind_info *here = walk->here, *there = walk->there;
	int found = find_among(here, walk->next, here->field_count, name);

	if (found < 0) {
		found = find_among(there, 0, there->field_count, name);
		if (found >= 0)
			*walk = (struct walk){ .here = there, .there = here };
	}
	if (found < 0)
		found = find_among(here, 0, walk->next, name);
	if (found >= 0)
		walk->next = (size_t)found + 1;
	return found >= 0;
}

/* Whether a field is of the context of the thread that ended the wait. */
static bool is_of_waker(enum record_kind kind, struct record_text name)
{
	static const char prefix[] = RECORD_WAKER_PREFIX;

	return kind == RECORD_KIND_STALL && name.size_bytes >= sizeof(prefix) - 1 &&
	       memcmp(name.bytes, prefix, sizeof(prefix) - 1) == 0;
}

/* Looks up each field in the schema. */
static void index_fields(struct record_view *view, const struct record_field *schema,
			 const struct record_field *kind)
{
	struct walk walk = { &record_common_info, &record_kinds[view->kind], 0 };
	uint8_t *places = (uint8_t *)&view->places;

	memset(places, 0, sizeof(view->places));
	for (size_t i = 0; i < view->field_count; i++) {
		struct record_field *field = &view->fields[i];
		bool is_text = false;

		field->is_key = false;
		if (field == schema || field == kind)
			continue;
		if (find_info(&walk, field->name)) {
			size_t found = walk.next - 1;
			uint8_t *place = &places[walk.here->first_place + found];

			is_text = record_type_is_text(walk.here->fields[found].type);
			if (*place == 0)
				*place = (uint8_t)(i + 1);
		}
		field->is_key = field->value == RECORD_VALUE_TEXT && !is_text &&
				!record_text_is(field->name, "kind") &&
				!is_of_waker(view->kind, field->name);
	}
}

/* Checks the fields that every record has. */
static int check_common(struct record_view *view, struct record_shapes *shapes)
{
	const struct record_field *schema = record_view_find(view, "schema");
	const struct record_field *kind = record_view_find(view, "kind");
	int64_t pid;

	if (!schema || schema->value != RECORD_VALUE_INTEGER || schema->integer < 0)
		return -EBADMSG;
	if (schema->integer != RECORD_SCHEMA)
		return -EPROTONOSUPPORT;
	if (!kind || kind->value != RECORD_VALUE_TEXT)
		return -EBADMSG;
	view->kind = find_kind(kind->text);
	index_fields(view, schema, kind);
	if (!record_view_count_at(view, RECORD_PLACE(common, pid), &pid))
		return -EBADMSG;
	if (shapes)
		record_shapes_learn(shapes, view, schema, kind);
	return 0;
}

/* The fields have the names and types of an earlier record that was checked; their values may still
 * be wrong. */
static bool is_like(struct record_view *view, const struct record_shape *shape)
{
	int64_t pid;

	if (view->fields[shape->schema_index].integer != RECORD_SCHEMA ||
	    !record_text_is(view->fields[shape->kind_index].text, record_kinds[shape->kind].name))
		return false;
	view->kind = shape->kind;
	view->places = shape->places;
	return record_view_count_at(view, RECORD_PLACE(common, pid), &pid);
}

int record_view_decode_next(const uint8_t *bytes, size_t available_bytes,
			    struct record_shapes *shapes, struct record_view *ret_view)
{
	struct cursor cursor = { bytes + ENTRY_HEAD_BYTES, bytes + available_bytes };
	const struct record_shape *shape;
	int r;

	if (entry_scan_head(bytes, available_bytes) < 0)
		return -EBADMSG;
	ret_view->field_count = 0;
	ret_view->item_count = 0;
	ret_view->clock_set_ns = 0;
	ret_view->wall_ns = entry_time_ns(bytes);
	r = take_fields(ret_view, &cursor, shapes, &shape);
	ret_view->entry_bytes = (size_t)(cursor.next - bytes);
	if (r < 0 || (shape && is_like(ret_view, shape)))
		return r;
	return check_common(ret_view, shapes);
}

static int64_t steady_ns(int64_t wall_ns, int64_t set_ns)
{
	int64_t ns;

	if (__builtin_sub_overflow(wall_ns, set_ns, &ns))
		return set_ns < 0 ? INT64_MAX : 0;
	return ns > 0 ? ns : 0;
}

void record_view_steady(struct record_view *view)
{
	const struct record_kind_info *kind = &record_kinds[view->kind];
	const uint8_t *places = (const uint8_t *)&view->places;
	uint8_t set_number = places[RECORD_PLACE(common, clock_set_ns)];
	struct record_field *set = set_number > 0 ? &view->fields[set_number - 1] : NULL;
	int64_t wall_ns = view->wall_ns > INT64_MAX ? INT64_MAX : (int64_t)view->wall_ns;

	if (!set || set->value != RECORD_VALUE_INTEGER || set->integer == 0)
		return;
	view->wall_ns = (uint64_t)steady_ns(wall_ns, set->integer);
	for (size_t i = 0; i < kind->field_count; i++) {
		uint8_t number = places[kind->first_place + i];
		struct record_field *field = number > 0 ? &view->fields[number - 1] : NULL;

		if (kind->fields[i].type == RECORD_TYPE_WALL && field &&
		    field->value == RECORD_VALUE_INTEGER && field->integer >= 0)
			field->integer = steady_ns(field->integer, set->integer);
	}
	view->clock_set_ns = set->integer;
	set->integer = 0;
}

int record_view_decode(const uint8_t *bytes, size_t available_bytes, struct record_view *ret_view)
{
	return record_view_decode_next(bytes, available_bytes, NULL, ret_view);
}
