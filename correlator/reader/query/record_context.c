/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/query/record_context.h"

#include <stdint.h>
#include <string.h>

/* Appends a text with its length, so that different lists of texts never have the same bytes. */
static size_t put(char *bytes, size_t used, struct record_text text)
{
	uint16_t size_bytes;

	if (used + sizeof(size_bytes) >= RECORD_CONTEXT_ID_BYTES)
		return used;
	if (text.size_bytes > RECORD_CONTEXT_ID_BYTES - used - sizeof(size_bytes))
		text.size_bytes = RECORD_CONTEXT_ID_BYTES - used - sizeof(size_bytes);
	size_bytes = (uint16_t)text.size_bytes;
	memcpy(bytes + used, &size_bytes, sizeof(size_bytes));
	memcpy(bytes + used + sizeof(size_bytes), text.bytes, size_bytes);
	return used + sizeof(size_bytes) + size_bytes;
}

static int compare_names(const struct record_field *a, const struct record_field *b)
{
	size_t a_bytes = a->name.size_bytes, b_bytes = b->name.size_bytes;
	int order = memcmp(a->name.bytes, b->name.bytes, a_bytes < b_bytes ? a_bytes : b_bytes);

	return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

/* Sorted by name, since lent keys come after the record's own. */
static size_t put_keys(const struct record_view *record, char *bytes, size_t used)
{
	const struct record_field *sorted[RECORD_VIEW_FIELDS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];
		size_t place = count;

		if (!field->is_key || field->text.size_bytes == 0)
			continue;
		for (; place > 0 && compare_names(field, sorted[place - 1]) < 0; place--)
			sorted[place] = sorted[place - 1];
		sorted[place] = field;
		count++;
	}
	for (size_t i = 0; i < count; i++) {
		used = put(bytes, used, sorted[i]->name);
		used = put(bytes, used, sorted[i]->text);
	}
	return used;
}

size_t record_context_id(const struct record_view *record, enum attribution attribution,
			 char ret_id[static RECORD_CONTEXT_ID_BYTES], bool *ret_is_request)
{
	struct record_text id;

	*ret_is_request = attribution_has_context(attribution) &&
			  record_view_text(record, "request_id", &id) && id.size_bytes > 0;
	ret_id[0] = *ret_is_request ? 'r' : (char)('0' + (int)attribution);
	return *ret_is_request ? put(ret_id, 1, id) : put_keys(record, ret_id, 1);
}

size_t record_context_part_id(const struct record_view *record, enum attribution attribution,
			      char ret_id[static RECORD_CONTEXT_ID_BYTES], bool *ret_is_request)
{
	size_t used = record_context_id(record, attribution, ret_id, ret_is_request);

	return *ret_is_request ? put_keys(record, ret_id, used) : used;
}
