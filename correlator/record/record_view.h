/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One record read back: the fields of an entry's map, decoded and checked, so that
 * reader/ does not deal with msgpack. Borrowed: texts point into the entry's bytes, and live as
 * long.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record/record.h"

enum {
	RECORD_VIEW_FIELDS_MAX = 128,
	RECORD_VIEW_ITEMS_MAX = 64, /* texts in all lists of a record */
	RECORD_VIEW_TEXT_BYTES_MAX = 4096,
};

/* Any bytes, not NUL-terminated: clean before showing (display.h). */
struct record_text {
	const char *bytes;
	size_t size_bytes;
};

enum record_value {
	RECORD_VALUE_OTHER = 0, /* a type that no record has */
	RECORD_VALUE_INTEGER = 1,
	RECORD_VALUE_BOOL = 2,
	RECORD_VALUE_TEXT = 3,
	RECORD_VALUE_LIST = 4,
	_RECORD_VALUE_MAX,
};

struct record_field {
	struct record_text name;
	enum record_value value;
	bool is_key; /* the value of a key: a text that the schema has no name for */
	int64_t integer; /* also 0 or 1 of a bool; above 2^63-1 is 2^63-1 */
	struct record_text text;
	const struct record_text *items; /* of a list */
	size_t item_count;
};

struct record_view {
	uint64_t wall_ns; /* the entry's EventTime */
	int64_t clock_set_ns; /* taken off that by record_view_steady() */
	size_t entry_bytes;
	enum record_kind kind;
	size_t field_count;
	struct record_field fields[RECORD_VIEW_FIELDS_MAX];
	struct record_places places; /* of what the schema names: the index + 1; 0: not there */
	size_t item_count;
	struct record_text items[RECORD_VIEW_ITEMS_MAX];
};

/*
 * Decodes the entry at the front of bytes: of those that entry_scan accepted, or of at most
 * ENTRY_NEAR_BYTES of which nothing is known. What is decoded is an entry as entry_scan has it, and
 * ends where that says. 0; -EBADMSG: no entry, not all of it, or not a record (a field name that is
 * no text, no schema, kind or pid); -EPROTONOSUPPORT: another schema; -E2BIG: beyond a bound above.
 * On failure *ret_view holds nothing of use.
 */
int record_view_decode(const uint8_t *bytes, size_t available_bytes, struct record_view *ret_view);

struct record_shapes;

/* The same, and faster where the record looks like one before; what it looks like is remembered
 * (record_shape.h). */
int record_view_decode_next(const uint8_t *bytes, size_t available_bytes,
			    struct record_shapes *shapes, struct record_view *ret_view);

/*
 * Its EventTime and fields of type WALL (schema.h) become those of a clock that was not set since
 * the recording began, each at least 0, and its clock_set_ns 0. So times of different records are
 * as far apart as they were.
 */
void record_view_steady(struct record_view *view);

/* The field, or NULL. The first one when a name occurs twice. */
const struct record_field *record_view_find(const struct record_view *view, const char *name);

/* False, with the result untouched, when the field is not there, of another type, or negative. */
bool record_view_count(const struct record_view *view, const char *name, int64_t *ret_count);
bool record_view_text(const struct record_view *view, const char *name,
		      struct record_text *ret_text);
/*
 * The same of a field of the schema, RECORD_PLACE(cpu, user_ns), without a search for its name: of
 * one of the record's own kind, or of the common ones.
 */
static inline const struct record_field *record_view_at(const struct record_view *view,
							size_t place)
{
	uint8_t number = ((const uint8_t *)&view->places)[place];

	return number > 0 ? &view->fields[number - 1] : NULL;
}

static inline bool record_view_count_at(const struct record_view *view, size_t place,
					int64_t *ret_count)
{
	const struct record_field *field = record_view_at(view, place);

	if (!field || field->value != RECORD_VALUE_INTEGER || field->integer < 0)
		return false;
	*ret_count = field->integer;
	return true;
}

static inline bool record_view_text_at(const struct record_view *view, size_t place,
				       struct record_text *ret_text)
{
	const struct record_field *field = record_view_at(view, place);

	if (!field || field->value != RECORD_VALUE_TEXT)
		return false;
	*ret_text = field->text;
	return true;
}

/* True if the field is a list that the text is in. */
bool record_view_lists_at(const struct record_view *view, size_t place, const char *text);
/* As record_view_count, but it is added to *sum, at most up to 2^63-1. */
bool record_view_add(const struct record_view *view, const char *name, int64_t *sum);

/* a + b, at most 2^63-1: records are untrusted. Neither is negative. */
static inline int64_t saturated_add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static inline void saturated_add_to(int64_t *sum, int64_t value)
{
	*sum = saturated_add(*sum, value);
}

static inline bool record_text_is(struct record_text text, const char *expected)
{
	size_t size_bytes = strlen(expected);

	return text.size_bytes == size_bytes && memcmp(text.bytes, expected, size_bytes) == 0;
}
