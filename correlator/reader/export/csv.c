/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/display.h"
#include "base/text.h"
#include "reader/report/csv_part.h"
#include "record/record_fields.h"

static const char wall_name[] = "wall_ns", other_name[] = "other_keys";

void csv_deinit(struct csv *csv)
{
	free(csv->keys);
	*csv = (struct csv){ 0 };
}

/* Called for each name in the schema, in column order; the keys' fields have no name. */
typedef void (*column_fn)(void *context, const char *name);

static void each_column(const struct record_kind_info *kind, column_fn visit, void *context)
{
	for (size_t i = 0; i < kind->field_count; i++)
		if (kind->fields[i].type != RECORD_TYPE_SWITCH && kind->fields[i].name[0] != '\0')
			visit(context, kind->fields[i].name);
}

static void put_name(void *context, const char *name)
{
	FILE *out = context;

	(void)fputc(',', out);
	csv_part_text(name, out);
}

static int put_header(struct csv *csv, const struct recording *recording, FILE *out)
{
	csv->keys = calloc(recording->key_count + 1, sizeof(*csv->keys));
	if (!csv->keys)
		return -ENOMEM;
	memcpy(csv->keys, recording->keys, recording->key_count * sizeof(*csv->keys));
	csv->key_count = recording->key_count;
	csv->has_header = true;
	(void)fputs(wall_name, out);
	each_column(&record_common_info, put_name, out);
	for (size_t i = 0; i < csv->key_count; i++)
		put_name(out, csv->keys[i]);
	each_column(&record_kinds[RECORD_KIND_CPU], put_name, out);
	put_name(out, other_name);
	(void)fputs("\r\n", out);
	return 0;
}

static void put_list(const struct record_field *field, FILE *out)
{
	char list[RECORD_VIEW_TEXT_BYTES_MAX];
	struct text_writer writer;

	text_writer_init(&writer, list, sizeof(list));
	for (size_t i = 0; i < field->item_count; i++) {
		text_writer_put(&writer, " ", i > 0);
		text_writer_put(&writer, field->items[i].bytes, field->items[i].size_bytes);
	}
	csv_part_label((struct record_text){ list, writer.length_bytes }, out);
}

/* An absent field is an empty cell; a field that is present but empty is a quoted "". */
static void put_value(const struct record_field *field, FILE *out)
{
	(void)fputc(',', out);
	if (!field)
		return;
	if (field->value == RECORD_VALUE_INTEGER || field->value == RECORD_VALUE_BOOL)
		(void)fprintf(out, "%" PRId64, field->integer);
	else if (field->value == RECORD_VALUE_TEXT && field->text.size_bytes == 0)
		(void)fputs("\"\"", out);
	else if (field->value == RECORD_VALUE_TEXT)
		csv_part_label(field->text, out);
	else if (field->value == RECORD_VALUE_LIST)
		put_list(field, out);
}

struct csv_row {
	const struct record_view *record;
	FILE *out;
};

static void put_field(void *context, const char *name)
{
	const struct csv_row *row = context;

	put_value(record_view_find(row->record, name), row->out);
}

static const struct record_field *find_key(const struct record_view *record, const char *key)
{
	char name[RECORDING_TEXT_BYTES];

	for (size_t i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];

		if (!field->is_key)
			continue;
		(void)text_escape(field->name.bytes, field->name.size_bytes, 0, name, sizeof(name));
		if (strcmp(name, key) == 0)
			return field;
	}
	return NULL;
}

static bool has_column(const struct csv *csv, const struct record_field *field)
{
	char name[RECORDING_TEXT_BYTES];

	(void)text_escape(field->name.bytes, field->name.size_bytes, 0, name, sizeof(name));
	for (size_t i = 0; i < csv->key_count; i++)
		if (strcmp(csv->keys[i], name) == 0)
			return true;
	return false;
}

/* "tenant=7 queue=slow" */
static void put_others(const struct csv *csv, const struct record_view *record, FILE *out)
{
	char others[RECORD_VIEW_TEXT_BYTES_MAX];
	struct text_writer writer;

	text_writer_init(&writer, others, sizeof(others));
	for (size_t i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];

		if (!field->is_key || has_column(csv, field))
			continue;
		text_writer_put(&writer, " ", writer.length_bytes > 0);
		text_writer_put(&writer, field->name.bytes, field->name.size_bytes);
		text_writer_put(&writer, "=", 1);
		text_writer_put(&writer, field->text.bytes, field->text.size_bytes);
	}
	(void)fputc(',', out);
	csv_part_label((struct record_text){ others, writer.length_bytes }, out);
}

int csv_add(struct csv *csv, const struct recording *recording, const struct record_view *record,
	    FILE *out)
{
	struct csv_row row = { record, out };
	int r = 0;

	if (record->kind != RECORD_KIND_CPU)
		return 0;
	if (!csv->has_header)
		r = put_header(csv, recording, out);
	if (r < 0)
		return r;
	(void)fprintf(out, "%" PRIu64, record->wall_ns);
	each_column(&record_common_info, put_field, &row);
	for (size_t i = 0; i < csv->key_count; i++)
		put_value(find_key(record, csv->keys[i]), out);
	each_column(&record_kinds[RECORD_KIND_CPU], put_field, &row);
	put_others(csv, record, out);
	(void)fputs("\r\n", out);
	return 0;
}

int csv_finish(struct csv *csv, const struct recording *recording, FILE *out)
{
	return csv->has_header ? 0 : put_header(csv, recording, out);
}
