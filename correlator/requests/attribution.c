/* SPDX-License-Identifier: GPL-2.0-only */
#include "requests/attribution.h"

/* A context is in force if at least one key has a value that is not empty. Time in no context is
 * recorded with every key, all empty, so a record without any key is not such time either. */
static bool has_context(const struct record_view *record)
{
	bool has_key = false;

	for (size_t i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];

		if (!field->is_key)
			continue;
		if (field->text.size_bytes > 0)
			return true;
		has_key = true;
	}
	return !has_key;
}

enum attribution attribution_of(const struct record_view *record)
{
	size_t flags = record->kind == RECORD_KIND_SLICE     ? RECORD_PLACE(slice, flags)
		       : record->kind == RECORD_KIND_SAMPLE  ? RECORD_PLACE(sample, flags)
		       : record->kind == RECORD_KIND_SYSCALL ? RECORD_PLACE(syscall, flags)
		       : record->kind == RECORD_KIND_IO	     ? RECORD_PLACE(io, flags)
		       : record->kind == RECORD_KIND_STALL   ? RECORD_PLACE(stall, flags)
							     : RECORD_PLACE(cpu, flags);

	if (record_view_lists_at(record, flags, "overflow"))
		return ATTRIBUTION_OVERFLOW;
	if (record_view_lists_at(record, flags, "unknown"))
		return ATTRIBUTION_UNKNOWN;
	if (!has_context(record))
		return ATTRIBUTION_NONE;
	/* A child's time before its exec belongs to the request of that exec. */
	if (record_view_lists_at(record, flags, "inherited") &&
	    !record_view_lists_at(record, flags, "inherited_by_exec"))
		return ATTRIBUTION_INHERITED;
	return ATTRIBUTION_CONTEXT;
}

bool attribution_has_context(enum attribution attribution)
{
	return attribution == ATTRIBUTION_CONTEXT || attribution == ATTRIBUTION_INHERITED;
}

const char *attribution_name(enum attribution attribution)
{
	static const char *const names[_ATTRIBUTION_MAX] = {
		[ATTRIBUTION_CONTEXT] = "attributed", [ATTRIBUTION_INHERITED] = "inherited",
		[ATTRIBUTION_NONE] = "no context",    [ATTRIBUTION_UNKNOWN] = "unknown",
		[ATTRIBUTION_OVERFLOW] = "overflow",
	};

	return names[attribution];
}
