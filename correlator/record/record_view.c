/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/record_view.h"

#include <errno.h>
#include <string.h>

#include "record/entry_scan.h"
#include "record/record_fields.h"
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

/* What is left of an entry. */
struct cursor {
	const uint8_t *next;
	const uint8_t *end;
};

/* A value, and what it holds if that is no values: it is there as a whole. Else TOKEN_BAD. Inline:
 * it is called sixty times for each record. */
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

/* It may hold anything, as deep as entry_scan lets it: the entry and its map are around it. */
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

static int take_fields(struct record_view *view, struct cursor *cursor)
{
	const uint8_t *payload = NULL;
	struct token map = take(cursor, &payload);
	int r = map.kind == TOKEN_MAP ? 0 : -EBADMSG;

	if (r == 0 && map.count > RECORD_VIEW_FIELDS_MAX)
		return -E2BIG;
	while (r == 0 && view->field_count < map.count) {
		struct record_field *field = &view->fields[view->field_count++];

		*field = (struct record_field){ 0 };
		r = take_text(cursor, &field->name);
		if (r == 0)
			r = take_value(view, cursor, field);
	}
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

/* Of names of the same length. Nearly all have 4 to 16 bytes: two words, which may overlap, and no
 * call. */
static __always_inline bool is_same(const char *a, const char *b, size_t size_bytes)
{
	uint64_t words[4];
	uint32_t halves[4];

	if (size_bytes >= 8 && size_bytes <= 16) {
		memcpy(&words[0], a, 8);
		memcpy(&words[1], b, 8);
		memcpy(&words[2], a + size_bytes - 8, 8);
		memcpy(&words[3], b + size_bytes - 8, 8);
		return words[0] == words[1] && words[2] == words[3];
	}
	if (size_bytes >= 4 && size_bytes < 8) {
		memcpy(&halves[0], a, 4);
		memcpy(&halves[1], b, 4);
		memcpy(&halves[2], a + size_bytes - 4, 4);
		memcpy(&halves[3], b + size_bytes - 4, 4);
		return halves[0] == halves[1] && halves[2] == halves[3];
	}
	return memcmp(a, b, size_bytes) == 0;
}

/* The index, or -1. */
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

/* How far a record is in the schema: it has its fields in that order, first the common ones. */
struct walk {
	const struct record_kind_info *here;
	const struct record_kind_info *there; /* the other one of common and the record's kind */
	size_t next; /* of here */
};

/* Mostly it is the next one; else the search goes once all around. False: the schema has none. */
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

/* What each field is, by the schema. */
static void index_fields(struct record_view *view, const struct record_field *schema,
			 const struct record_field *kind)
{
	struct walk walk = { &record_common_info, &record_kinds[view->kind], 0 };
	uint8_t *places = (uint8_t *)&view->places;

	memset(places, 0, sizeof(view->places));
	for (size_t i = 0; i < view->field_count; i++) {
		struct record_field *field = &view->fields[i];
		bool is_text = false;

		if (field == schema || field == kind)
			continue;
		if (find_info(&walk, field->name)) {
			size_t found = walk.next - 1;
			uint8_t *place = &places[walk.here->first_place + found];

			is_text = walk.here->fields[found].type == RECORD_TYPE_TEXT;
			if (*place == 0)
				*place = (uint8_t)(i + 1);
		}
		field->is_key = field->value == RECORD_VALUE_TEXT && !is_text &&
				!record_text_is(field->name, "kind");
	}
}

/* What every record has. */
static int check_common(struct record_view *view)
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
	return record_view_count_at(view, RECORD_PLACE(common, pid), &pid) ? 0 : -EBADMSG;
}

int record_view_decode(const uint8_t *bytes, size_t available_bytes, struct record_view *ret_view)
{
	struct cursor cursor = { bytes + ENTRY_HEAD_BYTES, bytes + available_bytes };
	int r;

	if (entry_scan_head(bytes, available_bytes) < 0)
		return -EBADMSG;
	ret_view->field_count = 0;
	ret_view->item_count = 0;
	ret_view->wall_ns = entry_time_ns(bytes);
	r = take_fields(ret_view, &cursor);
	ret_view->entry_bytes = (size_t)(cursor.next - bytes);
	return r == 0 ? check_common(ret_view) : r;
}
