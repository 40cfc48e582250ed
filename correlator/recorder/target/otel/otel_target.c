/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/otel/otel_target.h"

#include <string.h>

#include <correlator/otel_record.h>

void otel_target_init(struct otel_target *target, const char *const *names, size_t count)
{
	*target = (struct otel_target){ .publishers.symbol = OTEL_RECORD_SYMBOL };
	otel_announcement_init(&target->announcement, names, count);
}

void otel_target_deinit(struct otel_target *target)
{
	publishers_deinit(&target->publishers);
}

const struct publisher *otel_target_publisher(const struct otel_target *target)
{
	return publishers_live(&target->publishers);
}

bool otel_target_is_readable(const struct otel_target *target)
{
	return otel_target_publisher(target) &&
	       target->announcement.state != OTEL_ANNOUNCEMENT_REFUSED;
}

bool otel_target_is_complete(const struct otel_target *target)
{
	return otel_target_is_readable(target) && target->announcement.names_missing == 0;
}

void otel_target_inherit(struct otel_target *target, const struct otel_target *parent)
{
	struct otel_announcement own = target->announcement;

	if (own.state != OTEL_ANNOUNCEMENT_MISSING)
		return;
	target->announcement = parent->announcement;
	target->announcement.header_address = own.header_address;
	target->announcement.published_ns = own.published_ns;
}

void otel_target_config(const struct otel_target *target, struct otel_config *ret_config)
{
	const struct otel_announcement *announcement = &target->announcement;
	const struct publisher *publisher = otel_target_publisher(target);
	struct otel_config config = { .tls.model = TLS_MODEL_NONE };

	if (!otel_target_is_readable(target)) {
		*ret_config = config;
		return;
	}
	config.tls = publisher->tls.location;
	for (size_t key = 0; key < announcement->key_count; key++) {
		const char *name = announcement->names[key];

		if (!name)
			continue;
		if (strcmp(name, "trace_id") == 0)
			config.trace_key = (uint8_t)(key + 1);
		else if (strcmp(name, "span_id") == 0)
			config.span_key = (uint8_t)(key + 1);
		else
			config.reads_attributes = 1;
	}
	config.known_indexes = (uint16_t)announcement->index_count;
	memcpy(config.key_of_index, announcement->key_of_index, sizeof(config.key_of_index));
	*ret_config = config;
}
