/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One decoded record: the fields of an entry's map, decoded and checked, so that reader/ does not
 * deal with msgpack. Texts are borrowed: they point into the entry's bytes, and live as long.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record/record.h"

enum {
	RECORD_VIEW_FIELDS_MAX = 128,
	RECORD_VIEW_ITEMS_MAX = 64, /* texts in all lists of a record together */
	RECORD_VIEW_TEXT_BYTES_MAX = 4096,
};

/* Any bytes, not NUL-terminated: escape before showing (display.h). */
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
	/* The value of a key in the record's own context: a text whose name is not in the schema,
	 * and of a stall does not begin with RECORD_WAKER_PREFIX. */
	bool is_key;
	int64_t integer; /* also 0 or 1 of a bool; larger than 2^63-1 becomes 2^63-1 */
	struct record_text text;
	const struct record_text *items; /* of a list */
	size_t item_count;
};

struct record_view {
	uint64_t wall_ns; /* the entry's EventTime */
	int64_t clock_set_ns; /* subtracted from it by record_view_steady() */
	size_t entry_bytes;
	enum record_kind kind;
	size_t field_count;
	struct record_field fields[RECORD_VIEW_FIELDS_MAX];
	struct record_places places; /* of the fields in the schema: index + 1; 0: not there */
	size_t item_count;
	struct record_text items[RECORD_VIEW_ITEMS_MAX];
};

/*
 * Decodes the entry at the front of bytes: entry_scan accepted it, or it is in at most
 * ENTRY_NEAR_BYTES that nothing is known about. A decoded entry is valid by the rules of
 * entry_scan, and has the same size. Returns 0; -EBADMSG: not an entry, incomplete, or not a record
 * (a field name that is not text; schema, kind or pid is missing); -EPROTONOSUPPORT: another
 * schema; -E2BIG: beyond a bound above. On failure *ret_view is not usable.
 */
int record_view_decode(const uint8_t *bytes, size_t available_bytes, struct record_view *ret_view);

struct record_shapes;

/* Does the same, faster if the record has the shape of an earlier one; remembers its shape
 * (record_shape.h). */
int record_view_decode_next(const uint8_t *bytes, size_t available_bytes,
			    struct record_shapes *shapes, struct record_view *ret_view);

/*
 * Converts its EventTime and fields of type WALL (schema.h) to a clock that was not set since the
 * recording began, each at least 0, and sets its field clock_set_ns to 0. Differences between times
 * of different records are real durations then.
 */
void record_view_steady(struct record_view *view);

/* Returns the field, or NULL; the first one if a name occurs twice. */
const struct record_field *record_view_find(const struct record_view *view, const char *name);

/* Returns false, and leaves the result untouched, if the field is missing, of another type, or
 * negative. */
bool record_view_count(const struct record_view *view, const char *name, int64_t *ret_count);
bool record_view_text(const struct record_view *view, const char *name,
		      struct record_text *ret_text);
/*
 * Does the same for a field of the schema, RECORD_PLACE(cpu, user_ns), without searching for its
 * name: a field of the record's own kind, or a common one.
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

/* Whether the field is a list that contains text. */
bool record_view_lists_at(const struct record_view *view, size_t place, const char *text);
/* Like record_view_count, but adds the value to *sum, up to at most 2^63-1. */
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

/* By bytes; of two that begin alike the shorter one comes first. */
static inline int record_text_compare(struct record_text a, struct record_text b)
{
	size_t size_bytes = a.size_bytes < b.size_bytes ? a.size_bytes : b.size_bytes;
	int order = memcmp(a.bytes, b.bytes, size_bytes);

	return order ? order : (a.size_bytes > b.size_bytes) - (a.size_bytes < b.size_bytes);
}
