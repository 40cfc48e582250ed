/* SPDX-License-Identifier: GPL-2.0-only */
#include "requests/request_charge.h"

#include <string.h>

#include "requests/attribution.h"

struct record_text request_key_value(const struct record_key *keys, size_t count, const char *key)
{
	for (size_t i = 0; key && i < count; i++) {
		const char *value = keys[i].value;

		if (value && strcmp(keys[i].name, key) == 0)
			return (struct record_text){ value, strlen(value) };
	}
	return (struct record_text){ 0 };
}

/* Time in no context has every key, each with the value "". */
static bool has_context(const struct cpu_record *record)
{
	bool has_key = false;

	for (size_t i = 0; i < record->keys_count; i++) {
		if (record->keys[i].value && record->keys[i].value[0])
			return true;
		has_key |= record->keys[i].value != NULL;
	}
	return !has_key;
}

struct request_charge request_charge_of_record(const struct cpu_record *record, const char *key)
{
	struct request_charge charge = {
		.is_attributed = !(record->flags & (CPU_RECORD_OVERFLOW | CPU_RECORD_UNKNOWN)) &&
				 has_context(record),
		.pid = record->common.pid,
		.costs = costs_of_written(record),
	};

	if (charge.is_attributed) {
		charge.id = request_key_value(record->keys, record->keys_count, REQUEST_ID);
		charge.value = request_key_value(record->keys, record->keys_count, key);
	}
	return charge;
}

struct request_charge request_charge_of_view(const struct record_view *view, const char *key)
{
	struct request_charge charge = {
		.is_attributed = attribution_has_context(attribution_of(view)),
		.costs = costs_of_record(view),
	};
	int64_t pid;

	if (record_view_count(view, "pid", &pid))
		charge.pid = (uint32_t)pid;
	if (charge.is_attributed) {
		(void)record_view_text(view, REQUEST_ID, &charge.id);
		if (key)
			(void)record_view_text(view, key, &charge.value);
	}
	return charge;
}
