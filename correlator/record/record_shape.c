/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/record_shape.h"

#include <string.h>

enum {
	SHORT_TEXT_MARK = 0xa0 /* plus the length, in the lowest five bits */
};

const struct record_shape *record_shapes_find(const struct record_shapes *shapes,
					      size_t field_count)
{
	const struct record_shape *shape = &shapes->shapes[field_count % RECORD_SHAPES];

	return field_count > 0 && shape->field_count == field_count ? shape : NULL;
}

void record_shapes_learn(struct record_shapes *shapes, const struct record_view *view,
			 const struct record_field *schema, const struct record_field *kind)
{
	struct record_shape *shape = &shapes->shapes[view->field_count % RECORD_SHAPES];

	shape->field_count = 0;
	if (view->field_count > RECORD_SHAPE_FIELDS_MAX || view->kind == RECORD_KIND_OTHER)
		return;
	for (size_t i = 0; i < view->field_count; i++) {
		const struct record_field *field = &view->fields[i];
		struct record_shape_field *known = &shape->fields[i];

		if (field->name.size_bytes > RECORD_SHAPE_NAME_BYTES_MAX)
			return;
		known->name[0] = (uint8_t)(SHORT_TEXT_MARK | field->name.size_bytes);
		memcpy(known->name + 1, field->name.bytes, field->name.size_bytes);
		known->name_bytes = (uint8_t)(1 + field->name.size_bytes);
		known->is_key = field->is_key;
		known->value = field->value;
	}
	shape->kind = view->kind;
	shape->schema_index = (uint8_t)(schema - view->fields);
	shape->kind_index = (uint8_t)(kind - view->fields);
	shape->places = view->places;
	shape->field_count = view->field_count;
}
