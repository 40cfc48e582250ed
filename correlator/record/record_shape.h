/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shapes of records decoded before: which fields they had, in which order, and which field of
 * the schema each is. Nearly every record of a recording has the shape of an earlier one, and then
 * only needs to be compared with it. As untrusted as the records: holds only names that occurred in
 * them. Bounded; a record beyond the bounds is not remembered. Single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"

enum {
	RECORD_SHAPES = 8, /* one per number of fields, modulo this */
	RECORD_SHAPE_FIELDS_MAX = 64,
	RECORD_SHAPE_NAME_BYTES_MAX = 31, /* the longest that a one-byte mark can encode */
};

struct record_shape_field {
	uint8_t name[1 + RECORD_SHAPE_NAME_BYTES_MAX]; /* with its mark, as in the record */
	uint8_t name_bytes; /* including the mark */
	bool is_key;
	enum record_value value;
};

struct record_shape {
	size_t field_count; /* 0: none */
	enum record_kind kind; /* never RECORD_KIND_OTHER */
	uint8_t schema_index; /* index of the field "schema"; kind_index: of "kind" */
	uint8_t kind_index;
	struct record_places places;
	struct record_shape_field fields[RECORD_SHAPE_FIELDS_MAX];
};

/* All zeros: no shape is known. */
struct record_shapes {
	struct record_shape shapes[RECORD_SHAPES];
};

/* Returns the shape of records with field_count fields, or NULL if none is known. */
const struct record_shape *record_shapes_find(const struct record_shapes *shapes,
					      size_t field_count);
/* Remembers the shape of a decoded record, replacing another one. schema, kind: its fields of these
 * names. */
void record_shapes_learn(struct record_shapes *shapes, const struct record_view *view,
			 const struct record_field *schema, const struct record_field *kind);
