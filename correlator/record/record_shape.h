/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How records looked that were decoded before: which fields they had, in which order, and what each
 * is by the schema. Nearly every record of a recording looks like one before it, and need then only
 * be compared with that. Untrusted as the records are: nothing here but names that were there.
 * Bounded; a record that is larger than that is just not remembered. Single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"

enum {
	RECORD_SHAPES = 8, /* one for each number of fields, modulo this */
	RECORD_SHAPE_FIELDS_MAX = 64,
	RECORD_SHAPE_NAME_BYTES_MAX = 31, /* as long as a mark of one byte can say */
};

struct record_shape_field {
	uint8_t name[1 + RECORD_SHAPE_NAME_BYTES_MAX]; /* with its mark, as it is in the record */
	uint8_t name_bytes; /* with the mark */
	bool is_key;
	enum record_value value;
};

struct record_shape {
	size_t field_count; /* 0: there is none */
	enum record_kind kind; /* never RECORD_KIND_OTHER */
	uint8_t schema_index; /* of the fields of these names */
	uint8_t kind_index;
	struct record_places places;
	struct record_shape_field fields[RECORD_SHAPE_FIELDS_MAX];
};

/* All zeros: none is known. */
struct record_shapes {
	struct record_shape shapes[RECORD_SHAPES];
};

/* How a record with so many fields may look; NULL: nothing is known. */
const struct record_shape *record_shapes_find(const struct record_shapes *shapes,
					      size_t field_count);
/* Remembers a decoded record in place of another one. schema, kind: its fields of these names. */
void record_shapes_learn(struct record_shapes *shapes, const struct record_view *view,
			 const struct record_field *schema, const struct record_field *kind);
