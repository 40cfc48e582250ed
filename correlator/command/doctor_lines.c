#include "command/doctor_lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <correlator/otel_record.h>

void doctor_say(enum verdict verdict, const char *name, const char *format, ...)
{
	static const char *const marks[] = { "ok  ", "note", "FAIL" };
	va_list args;

	(void)printf("  %s  %-20s ", marks[verdict], name);
	va_start(args, format);
	(void)vprintf(format, args);
	va_end(args);
	(void)putchar('\n');
}

void doctor_say_tls(const struct tls_symbol *tls)
{
	const char *confirmation = tls->is_confirmed ? ", as the loader's own list has it" : "";
	static const char *const models[] = { "none", "static", "dynamic" };
	unsigned int model = tls->location.model < 3 ? tls->location.model : 0;

	if (tls->location.model == TLS_MODEL_DYNAMIC)
		doctor_say(VERDICT_OK, "TLS model",
			   "%s (%s): module %" PRIu64 ", offset %" PRId64 "%s", models[model],
			   tls->relocation, (uint64_t)tls->location.module,
			   (int64_t)tls->location.offset, confirmation);
	else
		doctor_say(VERDICT_OK, "TLS model", "%s (%s): thread pointer %+" PRId64 "%s",
			   models[model], tls->relocation, (int64_t)tls->location.offset,
			   confirmation);
}

static void describe_resource(const struct otel_target *otel)
{
	if (otel->announcement.service_name[0])
		doctor_say(VERDICT_OK, "service.name", "%s", otel->announcement.service_name);
	if (otel->announcement.service_instance_id[0])
		doctor_say(VERDICT_OK, "service.instance.id", "%s",
			   otel->announcement.service_instance_id);
	if (otel->announcement.environment_name[0])
		doctor_say(VERDICT_OK, "environment", "%s", otel->announcement.environment_name);
}

static void describe_otel_keys(const struct otel_target *otel, const struct key_options *keys)
{
	struct otel_config config;
	bool is_found;

	otel_target_config(otel, &config);
	for (size_t key = 0; key < keys->count; key++) {
		if (!keys->otel_names[key])
			continue;
		is_found = config.trace_key == key + 1 || config.span_key == key + 1;
		if (is_found)
			doctor_say(VERDICT_OK, "key", "%s is in each record", keys->names[key]);
		for (size_t i = 0; i < OTEL_INDEXES; i++) {
			if (config.key_of_index[i] != key + 1)
				continue;
			doctor_say(VERDICT_OK, "key", "%s = index %zu", keys->names[key], i);
			is_found = true;
		}
		if (!is_found)
			doctor_say(
				VERDICT_NOTE, "key",
				"%s is not in the key map of this process yet: a recording waits for it",
				keys->names[key]);
	}
}

void doctor_say_otel(const struct otel_target *otel, const struct key_options *keys)
{
	const struct publisher *publisher = otel_target_publisher(otel);

	doctor_say(VERDICT_OK, "OpenTelemetry", OTEL_RECORD_SYMBOL " in %s", publisher->path);
	doctor_say_tls(&publisher->tls);
	if (otel->announcement.state == OTEL_ANNOUNCEMENT_REFUSED)
		doctor_say(
			VERDICT_BAD, "process context",
			"of a version that is not known (schema `%s`): a recording does not read its "
			"contexts",
			otel->announcement.schema_version);
	else if (otel->announcement.state == OTEL_ANNOUNCEMENT_MISSING)
		doctor_say(
			VERDICT_NOTE, "process context",
			"none is published: otel.trace_id and otel.span_id alone can be recorded");
	else
		doctor_say(VERDICT_OK, "process context", "schema %s, %zu names of attributes",
			   otel->announcement.schema_version[0] ? otel->announcement.schema_version
								: "not declared",
			   otel->announcement.index_count);
	describe_resource(otel);
	describe_otel_keys(otel, keys);
	doctor_say(VERDICT_NOTE, "keys otel.*",
		   "change without a probe: recorded as with --lean, the error is in ambiguous_ns");
}
