/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/json_part.h"

#include <errno.h>
#include <string.h>

#include "base/display.h"

enum {
	ESCAPED_BYTES = 4 * RECORD_VIEW_TEXT_BYTES_MAX + 1
};

static const size_t dump_flags =
	JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9) | JSON_ENCODE_ANY;

json_t *json_part_bytes(const char *text, size_t size_bytes)
{
	char escaped[ESCAPED_BYTES];

	(void)display_escape(text, size_bytes, escaped, sizeof(escaped));
	return json_string(escaped);
}

json_t *json_part_text(const char *text)
{
	return json_part_bytes(text, strlen(text));
}

void json_part_set(json_t *object, const char *name, json_t *value, int *r)
{
	if (json_object_set_new(object, name, value) < 0)
		*r = -ENOMEM;
}

void json_part_append(json_t *array, json_t *value, int *r)
{
	if (json_array_append_new(array, value) < 0)
		*r = -ENOMEM;
}

int json_part_print(const char *before, json_t *part, int r, FILE *out)
{
	if (r == 0 && part) {
		(void)fputs(before, out);
		r = json_dumpf(part, out, dump_flags) < 0 && !ferror(out) ? -ENOMEM : 0;
	} else {
		r = -ENOMEM;
	}
	json_decref(part);
	return r;
}

static json_t *list_value(const struct record_field *field, int *r)
{
	json_t *array = json_array();

	for (size_t i = 0; i < field->item_count; i++)
		json_part_append(array,
				 json_part_bytes(field->items[i].bytes, field->items[i].size_bytes),
				 r);
	return array;
}

static json_t *field_value(const struct record_field *field, int *r)
{
	switch (field->value) {
	case RECORD_VALUE_INTEGER:
		return json_integer(field->integer);
	case RECORD_VALUE_BOOL:
		return json_boolean(field->integer);
	case RECORD_VALUE_TEXT:
		return json_part_bytes(field->text.bytes, field->text.size_bytes);
	case RECORD_VALUE_LIST:
		return list_value(field, r);
	default:
		return json_null();
	}
}

int json_part_print_record(const struct record_view *record, FILE *out)
{
	json_t *object = json_object();
	char name[ESCAPED_BYTES];
	int r = 0;

	json_part_set(object, "wall_ns", json_integer((json_int_t)record->wall_ns), &r);
	for (size_t i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];

		(void)display_escape(field->name.bytes, field->name.size_bytes, name, sizeof(name));
		json_part_set(object, name, field_value(field, &r), &r);
	}
	r = json_part_print("", object, r, out);
	(void)fputc('\n', out);
	return r;
}
