/* SPDX-License-Identifier: GPL-2.0-only */
/* The schema as data, for code that handles all fields: the encoder, the reserved names, the
 * reference. Constant; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"
#include "record/record_view.h"

enum record_type {
	RECORD_TYPE_U32,
	RECORD_TYPE_U64,
	RECORD_TYPE_S64,
	RECORD_TYPE_WALL,
	RECORD_TYPE_BOOL,
	RECORD_TYPE_SWITCH,
	RECORD_TYPE_TEXT,
	RECORD_TYPE_EVENT,
	RECORD_TYPE_MODE,
	RECORD_TYPE_TEXTS,
	RECORD_TYPE_KEYS,
	RECORD_TYPE_FLAGS,
	RECORD_TYPE_COUNTERS,
	RECORD_TYPE_FILL,
	RECORD_TYPE_PROGRAMS,
	RECORD_TYPE_DELIVERY,
};

enum record_presence {
	RECORD_PRESENCE_ALWAYS,
	RECORD_PRESENCE_KNOWN,
	RECORD_PRESENCE_IF,
};

/* Whether the field is encoded as one text. */
static inline bool record_type_is_text(enum record_type type)
{
	return type == RECORD_TYPE_TEXT || type == RECORD_TYPE_EVENT || type == RECORD_TYPE_MODE;
}

struct record_field_info {
	enum record_type type;
	const char *name; /* "" = names of its own, or not encoded */
	size_t name_bytes;
	size_t offset; /* of the member in its struct */
	enum record_presence presence;
	size_t switch_offset; /* RECORD_PRESENCE_IF: offset of the bool */
	const char *unit; /* "" = none */
	const char *meaning;
};

struct record_kind_info {
	const char *name;
	const char *meaning;
	const struct record_field_info *fields;
	size_t field_count;
	size_t first_place; /* RECORD_PLACE of the first field */
};

/* By enum record_kind; the entry of RECORD_KIND_OTHER is empty. */
extern const struct record_kind_info record_kinds[_RECORD_KIND_MAX];
/* The fields of struct record_common and struct delivery_figures. */
extern const struct record_kind_info record_common_info;
extern const struct record_kind_info record_delivery_info;

/* Whether cpu, slice, sample, syscall, io or stall records have, or with other keys may have, a
 * field of that name besides the keys: no key may have it. */
bool record_fields_are_taken(const char *name);
