/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/record_context.h"

#include <stdint.h>
#include <string.h>

/* Puts a text behind others, with its length, so that no two lists of texts are the same. */
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

static size_t put_keys(const struct record_view *record, char *bytes, size_t used)
{
	for (size_t i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];

		if (!field->is_key || field->text.size_bytes == 0)
			continue;
		used = put(bytes, used, field->name);
		used = put(bytes, used, field->text);
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
