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

size_t record_context_id(const struct record_view *record, enum attribution attribution,
			 char ret_id[static RECORD_CONTEXT_ID_BYTES], bool *ret_is_request)
{
	struct record_text id;
	size_t used = 1;

	*ret_is_request = attribution_has_context(attribution) &&
			  record_view_text(record, "request_id", &id) && id.size_bytes > 0;
	if (*ret_is_request) {
		ret_id[0] = 'r';
		return put(ret_id, used, id);
	}
	ret_id[0] = (char)('0' + (int)attribution);
	for (size_t i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];

		if (!field->is_key || field->text.size_bytes == 0)
			continue;
		used = put(ret_id, used, field->name);
		used = put(ret_id, used, field->text);
	}
	return used;
}

const char *record_context_request(const char *id, size_t id_bytes, size_t *ret_size_bytes)
{
	const size_t head_bytes = 1 + sizeof(uint16_t);

	*ret_size_bytes = id_bytes - head_bytes;
	return id + head_bytes;
}

bool record_context_is_wanted(bool is_request, enum filter_verdict of_record,
			      enum filter_verdict *verdict)
{
	if (!is_request) {
		if (of_record == FILTER_YES)
			*verdict = FILTER_YES;
		return of_record == FILTER_YES;
	}
	if (of_record == FILTER_UNKNOWN)
		return *verdict != FILTER_NO;
	if (*verdict != FILTER_YES)
		*verdict = of_record;
	return of_record == FILTER_YES;
}
